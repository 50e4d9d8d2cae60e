-- A shape is what checks have in common: an operation and, for each bucket,
--   algorithm, shadow, tick in ns, cost (s, ns), capacity or end of charge (s, ns)
-- as one text. A batch spells few shapes for its many checks.
local algorithms = {t = token_bucket}
local item = '(%a)(%d) (%d+) (%d+) (%d+) (%d+) (%d+);'

local function bucket(algorithm, shadow, tick, cost_s, cost_n, cap_s, cap_n)
  local b = {
    algorithm = algorithms[algorithm], shadow = shadow == '1', tick = tick + 0,
    cost_s = cost_s + 0, cost_n = cost_n + 0, cap_s = cap_s + 0, cap_n = cap_n + 0,
    after_s = 0, after_n = 0, at = 0, admits = false, stale = false,
  }
  b.judge, b.charge = b.algorithm.judge, b.algorithm.charge
  b.now_n = now_n - now_n % b.tick
  if b.tick == 1 and b.cost_s < exact_s then
    b.step = text_of('%.0f', b.cost_s * 1e9 + b.cost_n)
  end
  return b
end

local function spell(text)
  local shape = {operation = string.match(text, '^%a+')}
  for algorithm, shadow, tick, cost_s, cost_n, cap_s, cap_n in string.gmatch(text, item) do
    shape[#shape + 1] = bucket(algorithm, shadow, tick, cost_s, cost_n, cap_s, cap_n)
  end
  return shape
end
