-- One job for a worker: an abandoned or failed one that is due, else a new one.
-- KEYS: jobs. ARGV: group, worker, idle milliseconds after which a job is abandoned, where the last
-- look for one ended.
-- Reply: where this look ended, then, if there is a job, its id, its payload and how often it was
-- started.
local jobs, group, me = KEYS[1], ARGV[1], ARGV[2]

-- One XAUTOCLAIM looks at ten jobs that workers have. Where many failed jobs rest, an abandoned one
-- behind them has to be found as well.
local cursor, id = ARGV[4], nil
for _ = 1, 20 do
  local look = redis.call('XAUTOCLAIM', jobs, group, me, ARGV[3], cursor, 'COUNT', 1, 'JUSTID')
  cursor, id = look[1], look[2][1]
  if id or cursor == '0-0' then
    break
  end
end
if id then
  local entry = redis.call('XRANGE', jobs, id, id)[1]
  if entry then
    local pending = redis.call('XPENDING', jobs, group, id, id, 1)[1]
    return {cursor, id, entry[2][2], pending[4] - 1} -- Redis counts the first delivery as one
  end
  redis.call('XACK', jobs, group, id) -- deleted from outside, which Redis sees by itself from 7 on
end

local new = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', 1, 'STREAMS', jobs, '>')
if new then
  local entry = new[1][2][1]
  return {cursor, entry[1], entry[2][2], 0}
end
return {cursor}
