-- The script of most calls: takes from token and leaky buckets that fill within 104 days. Whatever
-- is not of that kind goes to the other one, general.lua, which decides the same for these.
--
-- KEYS are the buckets, each once. ARGV: now (seconds, nanoseconds; empty: the server's clock); the
-- shapes, each the number of buckets and, for each of them, cost, capacity (nanoseconds) and 1
-- for a shadow; and at last the checks, two bytes a number: where in ARGV the check's shape is and
-- then which key each of its buckets has.
-- Reply: now (s, ns), then what every bucket of every check owed before its charge, in nanoseconds.
--
-- What is stored is the instant at which a bucket is full. It is beyond 2^53 ns, so a double does
-- not hold it; what lies between now and then is below that here. All that a request costs is
-- in loops without calls or new tables, which cost more than the commands.
local KEYS, ARGV, command = KEYS, ARGV, redis.pcall
local sub, find, byte, text_of, unpack = string.sub, string.find, string.byte, string.format, unpack

local now_s, now_n = ARGV[1], ARGV[2]
if now_s == '' then
  local time = command('TIME')
  if time.err then
    return time
  end
  now_s, now_n = time[1] + 0, time[2] * 1000
else
  now_s, now_n = now_s + 0, now_n + 0
end

-- One command reads every bucket. What is no string reads as missing and is replaced.
local raws = command('MGET', unpack(KEYS))
if raws.err then
  return raws
end

-- Tables made from as many values as they will hold need not grow.
local debt, was = {unpack(KEYS)}, {unpack(KEYS)}

-- A stored instant is one integer of nanoseconds as text. Anything else was not written here: it
-- says nothing, or, where it is no number though as long as one, raises an error.
local function read()
  for i = 1, #debt do
    local raw, d = raws[i], 0
    if raw then
      if #raw == 19 then -- of this century
        local n = sub(raw, -9) + 0
        local s = (raw - n) * 1e-9 + 0.5
        s = s - s % 1
        if s >= 1e9 and n >= 0 and n < 1e9 then
          d = (s - now_s) * 1e9 + n - now_n
        end
      elseif #raw >= 10 and #raw <= 25 and find(raw, '^%d+$') then
        d = (sub(raw, 1, -10) - now_s) * 1e9 + sub(raw, -9) - now_n
      end
      if d < 0 then
        d = 0
      end
    end
    debt[i], was[i] = d, d
  end
end

if not pcall(read) then
  for i = 1, #debt do
    if raws[i] and not find(raws[i], '^%d+$') then
      raws[i] = false
    end
  end
  read()
end

local shapes = {}
for i = 3, #ARGV - 1 do
  shapes[i] = ARGV[i] + 0
end
local checks, at = {byte(ARGV[#ARGV], 1, -1)}, 1
local reply, told = {now_s, now_n}, 2

while at < #checks do
  local shape = checks[at] * 256 + checks[at + 1]
  local n, all, arg, from = shapes[shape], true, shape, told
  at = at + 2
  for p = at, at + 2 * n - 2, 2 do
    local i, cap = checks[p] * 256 + checks[p + 1], shapes[arg + 2]
    local d = debt[i]
    -- A debt beyond the time to full was left by a wider limit or a clock that has stepped back;
    -- it is forgiven once, by writing it anew.
    if d > cap then
      d = cap
    end
    told = told + 1
    reply[told] = d
    local after = d + shapes[arg + 1]
    if after <= cap then
      d = after
    elseif shapes[arg + 3] ~= 1 then
      all = false
    end
    debt[i] = d
    arg = arg + 3
  end
  -- Every bucket that is not shadow admits, or none stays charged.
  if not all then
    arg = shape
    for p = at, at + 2 * n - 2, 2 do
      from, arg = from + 1, arg + 3
      if shapes[arg] ~= 1 then
        debt[checks[p] * 256 + checks[p + 1]] = reply[from]
      end
    end
  end
  at = at + 2 * n
end

-- A key outlives its instant by half a second to one: by a grace for nodes whose clocks differ
-- when a replica takes over, and up to the next step, so that a key that is moved along
-- seldom needs a new expiry.
local step, slack_ms = 5e8, 999
local now_ms = (now_n - now_n % 1e6) / 1e6 -- and so many seconds
local now = now_s * 1e9 + now_n -- to 256 ns
local spans, expiries = {}, {} -- turning numbers into text is dear, and many get the same

for i = 1, #debt do
  local d, w = debt[i], was[i]
  if d ~= w then
    local to, result = now_n + d, nil
    local first = to - to % step
    local expiry = expiries[first]
    if not expiry then
      expiry = text_of('%d', first / 1e6 + slack_ms - now_ms)
      expiries[first] = expiry
    end
    if w > 0 and d > w then
      -- To add to what is stored and leave its expiry alone, while it stays in its step, is half
      -- the work of a SET. What cannot be added to, or is not what was read, is replaced.
      local span = spans[d - w]
      if not span then
        span = text_of('%.0f', d - w)
        spans[d - w] = span
      end
      result = command('INCRBY', KEYS[i], span)
      if type(result) == 'number' then
        local off = result - now - d
        if off > 1024 or off < -1024 then
          result = nil
        elseif w + now_n < first then
          result = command('PEXPIRE', KEYS[i], expiry)
        end
      elseif find(result.err, 'integer') then
        result = nil
      end
    end
    if not result then
      local n = to % 1e9
      result = command('SET', KEYS[i], text_of('%d%09d', now_s + (to - n) / 1e9, n), 'PX', expiry)
    end
    -- A write that is refused is refused by the server, not for its key: nothing stays.
    if type(result) == 'table' and result.err then
      for k = 1, i do
        if debt[k] ~= was[k] then
          if was[k] > 0 then
            command('SET', KEYS[k], raws[k], 'PX', text_of('%d', was[k] / 1e6 + slack_ms))
          else
            command('DEL', KEYS[k])
          end
        end
      end
      return result
    end
  end
end
return reply
