-- A job is done and leaves, whichever worker has it by now. It is counted once, last, and in vain
-- where memory is full: a count must not keep a job from leaving.
-- KEYS: jobs, counts. ARGV: group, job. Reply: 1, or 0 where it had left already.
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('XDEL', KEYS[1], ARGV[2])
redis.pcall('HINCRBY', KEYS[2], 'done', 1)
return 1
