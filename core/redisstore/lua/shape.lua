-- A shape is what checks have in common: an operation, the number of buckets and, for each,
--   algorithm, shadow, tick in ns, cost (s, ns), capacity or end of charge (s, ns)
-- A batch spells few shapes for its many checks.
local algorithms = {t = token_bucket}
local width = 7

local function bucket(algorithm, shadow, tick, cost_s, cost_n, cap_s, cap_n)
  local b = {
    shadow = shadow == '1', tick = tick + 0, now_n = now_n - now_n % tick,
    cost_s = cost_s + 0, cost_n = cost_n + 0, cap_s = cap_s + 0, cap_n = cap_n + 0,
    algorithm = algorithm, judge = algorithm.judge, charge = algorithm.charge,
    step = false, after_s = 0, after_n = 0, at = 0, admits = false, stale = false,
  }
  if b.tick == 1 and b.cost_s < exact_s then
    b.step = text_of('%.0f', b.cost_s * 1e9 + b.cost_n)
  end
  return b
end

-- spell reads the shape that begins at ARGV[arg], and tells where the next argument is.
local function spell(arg)
  local shape, count = {operation = ARGV[arg]}, ARGV[arg + 1] + 0
  arg = arg + 2
  for i = 1, count do
    local algorithm, shadow, tick, cost_s, cost_n, cap_s, cap_n = unpack(ARGV, arg, arg + width - 1)
    shape[i] = bucket(algorithms[algorithm], shadow, tick, cost_s, cost_n, cap_s, cap_n)
    arg = arg + width
  end
  return shape, arg
end
