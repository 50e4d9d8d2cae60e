-- Charges some buckets once. KEYS: a marker that tells whether this was done, then the buckets.
-- ARGV: now (seconds, nanoseconds; empty: the server's clock), the marker's life in ms, then for each
-- bucket its tick in ns, the charge and the time to full (s, ns each).
-- Reply: 1, or 0 where it had been done.
--
-- A bucket is the instant at which it will be full again. As in head.lua, instants are two numbers,
-- whole seconds and nanoseconds, since a double does not hold both in one.
local command = redis.pcall
local now_s, now_n = tonumber(ARGV[1]), tonumber(ARGV[2])
if not now_s then
  local time = command('TIME')
  if time.err then
    return time
  end
  now_s, now_n = tonumber(time[1]), time[2] * 1000
end

local raws = command('MGET', unpack(KEYS))
if raws.err then
  return raws
end
if raws[1] then
  return {0}
end

-- owed reads what a bucket owes at now, cut to its ticks. What was not written here says nothing.
local function owed(raw, n_now)
  if not raw or #raw < 10 or #raw > 25 or not string.find(raw, '^%d+$') then
    return 0, 0
  end
  local s, n = tonumber(string.sub(raw, 1, -10)) - now_s, tonumber(string.sub(raw, -9)) - n_now
  if n < 0 then
    s, n = s - 1, n + 1e9
  end
  if s < 0 then
    return 0, 0
  end
  return s, n
end

local function above(as, an, bs, bn)
  return as > bs or (as == bs and an > bn)
end

-- life is until the instant that lies so far ahead, rounded down to a millisecond, and a second less one.
local function life(s, n)
  return string.format('%.0f', s * 1000 + math.floor(n / 1e6) + 999)
end

local texts, lives = {}, {}
for i = 2, #KEYS do
  local at = 4 + (i - 2) * 5
  local tick, cost_s, cost_n, cap_s, cap_n = ARGV[at] + 0, ARGV[at + 1] + 0, ARGV[at + 2] + 0, ARGV[at + 3] + 0, ARGV[at + 4] + 0
  local n_now = now_n - now_n % tick
  local s, n = owed(raws[i], n_now)
  n = n - n % tick
  -- A bucket that owes more than it can hold is left as it is: it is forgiven by whoever judges it.
  if not above(s, n, cap_s, cap_n) then
    s, n = s + cost_s, n + cost_n
    if n >= 1e9 then
      s, n = s + 1, n - 1e9
    end
    if above(s, n, cap_s, cap_n) then
      s, n = cap_s, cap_n
    end
    if s > 0 or n > 0 then
      lives[i] = life(s, n)
      s, n = now_s + s, n_now + n
      if n >= 1e9 then
        s, n = s + 1, n - 1e9
      end
      texts[i] = string.format('%.0f%09.0f', s, n)
    end
  end
end

local done = command('SET', KEYS[1], '1', 'PX', ARGV[3])
if done.err then
  return done
end
for i = 2, #KEYS do
  if texts[i] then
    local result = command('SET', KEYS[i], texts[i], 'PX', lives[i])
    if result.err then
      -- Whether Redis takes writes, the first has told; should it not take this one, it is asked again.
      command('DEL', KEYS[1])
      return result
    end
  end
end
return {1}
