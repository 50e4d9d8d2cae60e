-- What there is to do, and what was done.
-- KEYS: jobs, dead, counts. ARGV: group.
-- Reply: unfinished jobs, those of them with a worker, dead jobs, done jobs, failed tries, now in
-- milliseconds, id of the oldest job without a worker, id of the oldest job.
local jobs = KEYS[1]
local pending, after = 0, '0-0'
local groups = redis.pcall('XINFO', 'GROUPS', jobs)
if groups.err and not string.find(groups.err, 'no such key', 1, true) then
  return groups
end
for _, fields in ipairs(groups) do
  local of = {}
  for i = 1, #fields, 2 do
    of[fields[i]] = fields[i + 1]
  end
  if of.name == ARGV[1] then
    pending, after = of.pending, of['last-delivered-id']
  end
end

local function oldest(from)
  local entry = redis.call('XRANGE', jobs, from, '+', 'COUNT', 1)[1]
  return entry and entry[1] or ''
end

local counts = redis.call('HMGET', KEYS[3], 'done', 'failed')
local time = redis.call('TIME')
return {
  redis.call('XLEN', jobs), pending, redis.call('XLEN', KEYS[2]),
  tonumber(counts[1] or 0), tonumber(counts[2] or 0),
  time[1] * 1000 + math.floor(time[2] / 1000),
  oldest('(' .. after), oldest('-'),
}
