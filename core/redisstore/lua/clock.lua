-- Many checks in one call. KEYS are the buckets of all of them in order.
-- ARGV: now (seconds, nanoseconds; empty: the server's clock), then for each check the name of
-- its shape, which the first check of that shape spells (see shape.lua).
-- Reply: now (s, ns), then the debt before the charge of every bucket that is judged: in
-- nanoseconds, or, where that is not exact, minus the seconds and then the nanoseconds.
local KEYS, ARGV, command = KEYS, ARGV, redis.pcall
local find, sub, text_of = string.find, string.sub, string.format
local type, unpack = type, unpack

local now_s, now_n = tonumber(ARGV[1]), tonumber(ARGV[2])
if not now_s then
  local time = command('TIME')
  if time.err then
    return time
  end
  now_s, now_n = tonumber(time[1]), time[2] * 1000
end

-- One command reads every bucket. What is no string reads as missing and is replaced.
local raws = command('MGET', unpack(KEYS))
if raws.err then
  return raws
end
