-- Workers that are gone are forgotten: one by name, and those that nobody has heard of for long. One
-- that has a job is kept: deleting it would lose the job.
-- KEYS: jobs. ARGV: group, a worker that ends (or nothing), idle milliseconds after which one is gone.
for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local of = {}
  for i = 1, #fields, 2 do
    of[fields[i]] = fields[i + 1]
  end
  if of.pending == 0 and (of.name == ARGV[2] or of.idle > tonumber(ARGV[3])) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], of.name)
  end
end
return 1
