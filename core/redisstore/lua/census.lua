-- Who is there. KEYS: a sorted set of replicas by the millisecond in which they stop counting.
-- ARGV: now (seconds, nanoseconds; empty: the server's clock), the replica, for how many
-- milliseconds it is there; 0: it leaves.
-- Reply: how many replicas there are.
local now_s, now_n = tonumber(ARGV[1]), tonumber(ARGV[2])
if not now_s then
  local time = redis.call('TIME')
  now_s, now_n = tonumber(time[1]), time[2] * 1000
end
local now = now_s * 1000 + math.floor(now_n / 1e6)
local ttl = tonumber(ARGV[4])

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if ttl > 0 then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ttl), ARGV[3])
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl))
else
  redis.call('ZREM', KEYS[1], ARGV[3])
end
return {redis.call('ZCARD', KEYS[1])}
