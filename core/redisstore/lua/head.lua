-- The script of calls that are not all of the kind that quick.lua is for: any algorithm, any
-- operation, spans of any length. It is put together from these parts: head, one for each
-- algorithm, judge, save.
--
-- KEYS are the buckets, each once. ARGV: now (seconds, nanoseconds; empty: the server's clock); the
-- shapes, each an operation, the number of buckets and, for each of them, the letter of its
-- algorithm, 1 for a shadow and its numbers (see the algorithm's make), in a refund then the
-- receipt; and at last the checks, two bytes a number: where in ARGV the check's shape is and then
-- which key each of its buckets has.
-- Reply: now (s, ns), then, for every bucket that is judged, what its algorithm tells.
--
-- Instants and spans are two numbers, whole seconds and nanoseconds below 1e9, or one of whole
-- microseconds. A double holds each of them exactly, but not today's nanoseconds in one.
local KEYS, ARGV, command = KEYS, ARGV, redis.pcall
local find, sub, byte, text_of, type, unpack = string.find, string.sub, string.byte, string.format, type, unpack
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

local now_s, now_n = tonumber(ARGV[1]), tonumber(ARGV[2])
if not now_s then
  local time = command('TIME')
  if time.err then
    return time
  end
  now_s, now_n = tonumber(time[1]), time[2] * 1000
end
local now_us = now_s * 1e6 + floor(now_n / 1e3)

-- A bucket that does not start full says by being there that it is not new: once it is full, for as long again
-- as it takes to fill, and so many seconds. Who waits as told is to find it: Retry-After is whole seconds, and
-- with all the jitter that there may be twice that.
local memory_s = 10

-- One command reads every bucket. What is no string reads as missing and is replaced.
local raws = command('MGET', unpack(KEYS))
if raws.err then
  return raws
end

local reply, told = {now_s, now_n}, 2

local function tell(number)
  told = told + 1
  reply[told] = number
end

-- numbers reads text that is unsigned integers with a space between each, or returns nil.
local function numbers(raw, count)
  local out, at = {}, 1
  for k = 1, count do
    local from, to = find(raw, '^%d+', at)
    if not from or to - from > 15 then
      return nil
    end
    out[k] = tonumber(sub(raw, from, to))
    at = to + 2
    if sub(raw, to + 1, to + 1) ~= (k < count and ' ' or '') then
      return nil
    end
  end
  return out
end

-- makers has a function for each letter that makes its algorithm: few batches have more than one. An
-- algorithm has
--   make(arg): a bucket's numbers, which begin at ARGV[arg], as a table, and how many there are
--   read(raw): the state that is stored, nil where it says nothing; what is not of its form, or raises
--     an error, was not written here and is replaced
--   roll(state, b, judges): the state brought up to now, or a new one, and whether it must be stored; one
--     that is judged is forgiven what lies beyond the time to full
--   admits(state, b), tell(state, b)
--   take(state, b), debit(state, b), refund(state, b, receipt), reset(state, b): change the state
--   text(state, b): what is stored and the instant (s, ns) from which it says nothing; nil: that is now
local makers = {}
