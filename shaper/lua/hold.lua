-- A worker says of its job that it starts it, still works on it, or lets it go.
-- KEYS: jobs, counts. ARGV: group, worker, job, for how many milliseconds it counts as idle, how often
-- it was started (empty: as before), failed tries to count.
-- Reply: 1, or 0 where another worker has the job by now, or -1 where nobody has.
local jobs, group, me, id = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local pending = redis.call('XPENDING', jobs, group, id, id, 1)[1]
if not pending then
  return -1
elseif pending[2] ~= me then
  return 0
end
local starts = pending[4]
if ARGV[5] ~= '' then
  starts = ARGV[5] + 1 -- Redis counts the first delivery as one, whether the job was started or not
end
redis.call('XCLAIM', jobs, group, me, 0, id, 'IDLE', ARGV[4], 'RETRYCOUNT', starts, 'JUSTID')
if ARGV[6] ~= '0' then
  redis.pcall('HINCRBY', KEYS[2], 'failed', ARGV[6])
end
return 1
