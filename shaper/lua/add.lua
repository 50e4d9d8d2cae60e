-- A job enters the queue, unless that is full. What is done is deleted, so the stream's length is
-- the number of unfinished jobs.
-- KEYS: jobs. ARGV: most unfinished jobs, payload. Reply: the job's id, or nil for a full queue.
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then
  return false
end
return redis.call('XADD', KEYS[1], '*', 'p', ARGV[2])
