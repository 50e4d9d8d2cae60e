-- GCRA over all KEYS, all or nothing. ARGV: time of one unit, time to full, in microseconds.
-- Microseconds since the epoch fit a double, so no arithmetic on text is needed here.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local unit, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = {}
for i, key in ipairs(KEYS) do
  local at = math.max(tonumber(redis.call('GET', key)) or 0, now) + unit
  if at - now > most then
    return 0
  end
  full[i] = at
end
for i, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', full[i]), 'PX', math.ceil((full[i] - now) / 1000))
end
return 1
