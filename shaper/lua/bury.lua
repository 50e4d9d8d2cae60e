-- A job that was tried often enough goes to the dead ones. The write that memory can refuse comes
-- first, so that the job is at one place or the other.
-- KEYS: jobs, dead, counts. ARGV: group, worker, job, how often it was started, its last error, failed
-- tries to count.
-- Reply: 1, or 0 where it is not this worker's any more.
local jobs, group, id = KEYS[1], ARGV[1], ARGV[3]

local pending = redis.call('XPENDING', jobs, group, id, id, 1)[1]
if not pending or pending[2] ~= ARGV[2] then
  return 0
end
local entry = redis.call('XRANGE', jobs, id, id)[1]
if entry then
  redis.call('XADD', KEYS[2], '*', 'id', id, 'attempts', ARGV[4], 'error', ARGV[5], 'p', entry[2][2])
end
redis.call('XACK', jobs, group, id)
redis.call('XDEL', jobs, id)
if ARGV[6] ~= '0' then
  redis.pcall('HINCRBY', KEYS[3], 'failed', ARGV[6])
end
return 1
