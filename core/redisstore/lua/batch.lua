-- Many checks in one call. KEYS are the buckets of all of them in order.
-- ARGV: now (seconds, nanoseconds; empty: the server's clock), then for each check its
-- operation and number of buckets, then for each bucket
--   algorithm, shadow, tick in ns, cost (s, ns), capacity or end of charge (s, ns)
-- Reply: now (s, ns), then for each bucket: admits, debt (s, ns).
local algorithms = {t = token_bucket}

local now_s, now_n = tonumber(ARGV[1]), tonumber(ARGV[2])
if not now_s then
  local time = redis.pcall('TIME')
  if time.err then
    return time
  end
  now_s, now_n = tonumber(time[1]), tonumber(time[2]) * 1000
end

local cells, order = {}, {}
local reply = {now_s, now_n}
local arg, key = 3, 1

local function bucket()
  local b = {
    key = KEYS[key], algorithm = algorithms[ARGV[arg]], shadow = ARGV[arg + 1] == '1',
    cost_s = tonumber(ARGV[arg + 3]), cost_n = tonumber(ARGV[arg + 4]),
    cap_s = tonumber(ARGV[arg + 5]), cap_n = tonumber(ARGV[arg + 6]),
    now_s = now_s, now_n = now_n - now_n % tonumber(ARGV[arg + 2]),
    admits = true, debt_s = 0, debt_n = 0,
  }
  key, arg = key + 1, arg + 7
  local cell = cells[b.key]
  if not cell then
    local err
    cell, err = b.algorithm.load(b.key)
    if err then
      return nil, err
    end
    cell.key, cell.algorithm = b.key, b.algorithm
    cells[b.key] = cell
    order[#order + 1] = cell
  end
  b.cell = cell
  return b
end

local operations = {}

-- take: every bucket that is not shadow admits, or none is charged.
function operations.take(buckets, dry)
  local all = true
  for _, b in ipairs(buckets) do
    b.algorithm.judge(b.cell, b)
    all = all and (b.admits or b.shadow)
  end
  if dry then
    return
  end
  for _, b in ipairs(buckets) do
    if b.admits and (all or b.shadow) then
      b.algorithm.charge(b.cell, b)
    elseif b.stale then
      b.algorithm.owe(b.cell, b, b.debt_s, b.debt_n)
    end
  end
end

function operations.peek(buckets)
  operations.take(buckets, true)
end

for _, name in ipairs({'debit', 'refund', 'reset'}) do
  operations[name] = function(buckets)
    for _, b in ipairs(buckets) do
      b.algorithm[name](b.cell, b)
    end
  end
end

while arg <= #ARGV do
  local operation, count = operations[ARGV[arg]], tonumber(ARGV[arg + 1])
  arg = arg + 2
  local buckets = {}
  for i = 1, count do
    local b, err = bucket()
    if err then
      return err
    end
    buckets[i] = b
  end
  operation(buckets)
  for _, b in ipairs(buckets) do
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = b.admits and 1 or 0, b.debt_s, b.debt_n
  end
end

-- A write that is refused is refused by the server, not for its key: nothing of the batch stays.
for i, cell in ipairs(order) do
  if cell.dirty then
    local result = cell.algorithm.save(cell.key, cell, now_s, now_n)
    if type(result) == 'table' and result.err then
      for j = 1, i - 1 do
        if order[j].dirty then
          order[j].algorithm.undo(order[j].key, order[j], now_s, now_n)
        end
      end
      return result
    end
  end
end
return reply
