-- Many checks in one call. KEYS are the buckets of all of them in order.
-- ARGV: now (seconds, nanoseconds; empty: the server's clock), then for each check the name of
-- its shape, which the first check of that shape spells (see shape.lua).
-- Reply: now (s, ns), then the debt before the charge of every bucket that is judged: in
-- nanoseconds, or, where that is not exact, minus the seconds and then the nanoseconds.
--
-- Instants and spans are two numbers, whole seconds and nanoseconds below 1e9. A double holds
-- each of them exactly, but not the two in one: today's nanoseconds lie beyond 2^53.
--
-- What each request costs is loops without calls or new tables: functions that see many
-- variables are dear to make, and a batch of one makes them all.
local KEYS, ARGV, command = KEYS, ARGV, redis.pcall
local find, sub, text_of, type, unpack = string.find, string.sub, string.format, type, unpack

-- Below this many seconds a span in nanoseconds is exact as one number.
local exact_s = 9e6

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

-- A cell is what is known of a key, in tables that are made from as many values as they will hold.
local first, numbers = {}, {} -- of each key's number the first with the same key
local at_s, at_n = {unpack(KEYS)}, {unpack(KEYS)} -- the instant it holds, 0 where nothing is owed

-- A stored instant is one integer of nanoseconds as text. Anything else was not written here: it
-- says nothing, or, where it is no number though as long as one, raises an error.
local function read()
  for i = 1, #KEYS do
    local key, raw = KEYS[i], raws[i]
    local number = numbers[key]
    if not number then
      local s, n = 0, 0
      if raw then
        if #raw == 19 then -- of this century
          n = sub(raw, -9) + 0
          s = (raw - n) * 1e-9 + 0.5
          s = s - s % 1
          if not (s >= 1e9 and n >= 0 and n < 1e9) then
            s, n = 0, 0
          end
        elseif #raw >= 10 and #raw <= 25 and find(raw, '^%d+$') then
          s, n = sub(raw, 1, -10) + 0, sub(raw, -9) + 0
        end
        if s < now_s or (s == now_s and n <= now_n) then
          s, n = 0, 0
        end
      end
      number, numbers[key] = i, i
      at_s[i], at_n[i] = s, n
    end
    first[i] = number
  end
end

if not pcall(read) then
  for i = 1, #KEYS do
    if raws[i] and not find(raws[i], '^%d+$') then
      raws[i] = false
    end
  end
  read()
end
