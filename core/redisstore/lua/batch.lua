-- One command reads every bucket. What is no string reads as missing and is replaced.
local raws = pcall('MGET', unpack(KEYS))
if raws.err then
  return raws
end

local cells, order = {}, {}
local reply, told = {now_s, now_n}, 2

local function cell_of(i, b)
  local key = KEYS[i]
  local cell = b.algorithm.read(raws[i])
  cells[key], order[#order + 1] = cell, key
  return cell
end

-- judge fills in what each bucket owes, and whether all that are not shadow admit.
local function judge(shape, first)
  local all = true
  for i = 1, #shape do
    local b = shape[i]
    local cell = cells[KEYS[first + i]] or cell_of(first + i, b)
    b.cell, b.admits = cell, b.judge(cell, b)
    all = all and (b.admits or b.shadow)
    if b.debt_s < exact_s then
      told = told + 1
      reply[told] = b.debt_s * 1e9 + b.debt_n
    else
      reply[told + 1], reply[told + 2] = -b.debt_s, b.debt_n
      told = told + 2
    end
  end
  return all
end

local operations = {peek = judge}

-- take: every bucket that is not shadow admits, or none is charged.
function operations.take(shape, first)
  local all = judge(shape, first)
  for i = 1, #shape do
    local b = shape[i]
    if b.admits and (all or b.shadow) then
      b.charge(b.cell, b)
    elseif b.stale then
      b.algorithm.owe(b.cell, b, b.debt_s, b.debt_n)
    end
  end
end

for _, name in ipairs({'debit', 'refund', 'reset'}) do
  operations[name] = function(shape, first)
    for i = 1, #shape do
      local b = shape[i]
      b.algorithm[name](cells[KEYS[first + i]] or cell_of(first + i, b), b)
    end
  end
end

local shapes, arg, key = {}, 3, 0
while ARGV[arg] do
  local shape = shapes[ARGV[arg]]
  if not shape then
    shape = spell(ARGV[arg + 1])
    shape.run = operations[shape.operation]
    shapes[ARGV[arg]] = shape
    arg = arg + 1
  end
  shape.run(shape, key)
  arg, key = arg + 1, key + #shape
end

-- A write that is refused is refused by the server, not for its key: nothing of the batch stays.
for i = 1, #order do
  local cell = cells[order[i]]
  if cell.dirty then
    local result = save(order[i], cell)
    if type(result) == 'table' and result.err then
      for j = 1, cell.lives and i or i - 1 do
        if cells[order[j]].dirty then
          undo(order[j], cells[order[j]])
        end
      end
      return result
    end
  end
end
return reply
