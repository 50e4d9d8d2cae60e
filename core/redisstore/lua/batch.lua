local reply, told -- the answer and its length

-- judge finds what each bucket owes, and whether all that are not shadow admit.
local function judge(shape, before)
  local all, told_now = true, told
  for u = 1, #shape do
    local b, key = shape[u], KEYS[before + u]
    local i = numbers[key] or number(key, before + u)
    local s, n, admits = b.judge(i, b)
    b.at, b.admits = i, admits
    all = all and (admits or b.shadow)
    told_now = told_now + 1
    if s < exact_s then
      reply[told_now] = s * 1e9 + n
    else
      reply[told_now], reply[told_now + 1] = -s, n
      told_now = told_now + 1
    end
  end
  told = told_now
  return all
end

local operations = {peek = judge}

-- take: every bucket that is not shadow admits, or none is charged.
function operations.take(shape, before)
  local all = judge(shape, before)
  for u = 1, #shape do
    local b = shape[u]
    if b.admits then
      if all or b.shadow then
        b.charge(b.at, b)
      end
    elseif b.stale then
      b.algorithm.clamp(b.at, b)
    end
  end
end

for _, name in ipairs({'debit', 'refund', 'reset'}) do
  operations[name] = function(shape, before)
    for u = 1, #shape do
      local b, key = shape[u], KEYS[before + u]
      b.algorithm[name](numbers[key] or number(key, before + u), b)
    end
  end
end

local function run()
  forget()
  reply, told = {now_s, now_n}, 2
  local shapes, arg, key = {}, 3, 0
  local name = ARGV[arg]
  while name do
    local shape = shapes[name]
    arg = arg + 1
    if not shape then
      shape, arg = spell(arg)
      shapes[name] = shape
    end
    operations[shape.operation](shape, key)
    key, name = key + #shape, ARGV[arg]
  end
end

-- Nothing has been written before all is decided, so a value that is no number, which was not
-- written here, only costs a second run.
if not pcall(run) then
  for i = 1, #KEYS do
    if raws[i] and not find(raws[i], '^%d+$') then
      raws[i] = false
    end
  end
  run()
end
return save_all() or reply
