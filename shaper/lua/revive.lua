-- A dead job becomes a new one, unless the queue is full.
-- KEYS: jobs, dead. ARGV: most unfinished jobs, dead job.
-- Reply: the new job's id, 0 where there is no such dead job, or nil for a full queue.
local entry = redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2])[1]
if not entry then
  return 0
elseif redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then
  return false
end
local id = redis.call('XADD', KEYS[1], '*', 'p', entry[2][8])
redis.call('XDEL', KEYS[2], ARGV[2])
return id
