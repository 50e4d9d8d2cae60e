-- A token bucket is the instant at which it will be full again. What lies between now and
-- then is its debt.
local token_bucket = {}

-- load reads a bucket once for the whole batch. A foreign value counts as a full bucket and is
-- replaced; an error that says something else is the server's.
function token_bucket.load(key)
  local raw = redis.pcall('GET', key)
  local cell = {s = 0, n = 0}
  if type(raw) == 'table' then
    if string.sub(raw.err, 1, 9) ~= 'WRONGTYPE' then
      return nil, raw
    end
  elseif raw then
    local s, n = parse(raw)
    if s then
      cell.s, cell.n, cell.raw = s, n, raw
    end
  end
  return cell
end

-- debt of a cell, no more than the time to full. A longer one was left by a wider limit or a
-- clock that has stepped back; it is forgiven once, by writing it anew.
function token_bucket.debt(cell, b)
  local s, n = minus(cell.s, cell.n, b.now_s, b.now_n)
  if exceeds(s, n, b.cap_s, b.cap_n) then
    return b.cap_s, b.cap_n, true
  end
  return s, n, false
end

function token_bucket.judge(cell, b)
  local s, n, stale = token_bucket.debt(cell, b)
  b.stale, b.debt_s, b.debt_n = stale, s, n
  local after_s, after_n = plus(s, n, b.cost_s, b.cost_n)
  b.admits = not exceeds(after_s, after_n, b.cap_s, b.cap_n)
end

function token_bucket.owe(cell, b, s, n)
  b.debt_s, b.debt_n = s, n
  cell.s, cell.n = plus(b.now_s, b.now_n, s, n)
  cell.dirty = true
end

function token_bucket.charge(cell, b)
  token_bucket.owe(cell, b, plus(b.debt_s, b.debt_n, b.cost_s, b.cost_n))
end

function token_bucket.debit(cell, b)
  token_bucket.judge(cell, b)
  if b.admits then
    token_bucket.charge(cell, b)
  elseif not b.stale then
    token_bucket.owe(cell, b, b.cap_s, b.cap_n)
  end
end

-- refund: cap holds the instant at which the charge ends. What lies between now and then is all
-- of it that time has not given back.
function token_bucket.refund(cell, b)
  local give_s, give_n = minus(b.cap_s, b.cap_n, b.now_s, b.now_n)
  if exceeds(give_s, give_n, b.cost_s, b.cost_n) then
    give_s, give_n = b.cost_s, b.cost_n
  end
  local s, n = minus(cell.s, cell.n, b.now_s, b.now_n)
  token_bucket.owe(cell, b, minus(s, n, give_s, give_n))
end

function token_bucket.reset(cell, b)
  token_bucket.owe(cell, b, 0, 0)
end

-- The grace covers nodes whose clocks differ when a replica takes over.
local grace_ms = 500

function token_bucket.save(key, cell, now_s, now_n)
  local s, n = minus(cell.s, cell.n, now_s, now_n)
  if s == 0 and n == 0 then
    return redis.pcall('DEL', key)
  end
  local ttl = s * 1000 + math.ceil(n / 1e6) + grace_ms
  return redis.pcall('SET', key, format(cell.s, cell.n), 'PX', string.format('%.0f', ttl))
end

function token_bucket.undo(key, cell, now_s, now_n)
  if not cell.raw then
    redis.pcall('DEL', key)
    return
  end
  cell.s, cell.n = parse(cell.raw)
  token_bucket.save(key, cell, now_s, now_n)
end
