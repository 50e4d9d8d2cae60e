-- A shape is what checks have in common: an operation, the number of buckets and, for each,
--   algorithm, shadow, tick in ns, cost (s, ns), capacity or end of charge (s, ns)
-- A batch spells few shapes for its many checks. The one algorithm there is, t, is the token
-- bucket: the instant at which it will be full again. What lies between now and then is its debt.
local width = 7

-- spell reads the shape that begins at ARGV[arg], and tells where the next argument is.
local function spell(arg)
  local operation, count = ARGV[arg], ARGV[arg + 1] + 0
  local shape = {operation = operation, takes = operation == 'take', judges = operation == 'take' or operation == 'peek'}
  arg = arg + 2
  for u = 1, count do
    local _, shadow, tick, cost_s, cost_n, cap_s, cap_n = unpack(ARGV, arg, arg + width - 1)
    tick, cost_s, cost_n = tick + 0, cost_s + 0, cost_n + 0
    shape[u] = {
      shadow = shadow == '1', tick = tick, now_n = now_n - now_n % tick,
      cost_s = cost_s, cost_n = cost_n, cap_s = cap_s + 0, cap_n = cap_n + 0,
      -- the cost as text, where it is a step that the server can make
      step = tick == 1 and cost_s < exact_s and text_of('%.0f', cost_s * 1e9 + cost_n),
      after_s = 0, after_n = 0, admits = false, stale = false, -- of the latest check
    }
    arg = arg + width
  end
  return shape, arg
end
