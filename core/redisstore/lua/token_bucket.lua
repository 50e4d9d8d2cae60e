-- A token bucket is the instant at which it will be full again. What lies between now and
-- then is its debt.
local token_bucket = {}

-- read turns what is stored into a cell, which lives if it owes something. A foreign value counts
-- as a full bucket and is replaced. Every field has its place from the start: a Lua table that
-- grows is dear.
function token_bucket.read(raw)
  if raw then
    local s, n = parse(raw)
    if s and exceeds(s, n, now_s, now_n) then
      return {s = s, n = n, dirty = false, moved = false, raw = raw, was_s = s, was_n = n, lives = true}
    end
  end
  return {s = 0, n = 0, dirty = false, moved = false}
end

-- judge finds the debt, which is no more than the time to full. A longer one was left by a wider
-- limit or a clock that has stepped back; it is forgiven once, by writing it anew.
function token_bucket.judge(cell, b)
  local s, n = cell.s - now_s, cell.n - b.now_n
  if n < 0 then
    s, n = s - 1, n + 1e9
  end
  if s < 0 then
    s, n = 0, 0
  elseif b.tick > 1 then
    n = n - n % b.tick
  end
  local cap_s, cap_n = b.cap_s, b.cap_n
  local stale = s > cap_s or (s == cap_s and n > cap_n)
  if stale then
    s, n, cell.stale = cap_s, cap_n, true
  end
  b.stale, b.debt_s, b.debt_n = stale, s, n
  s, n = s + b.cost_s, n + b.cost_n
  if n >= 1e9 then
    s, n = s + 1, n - 1e9
  end
  b.after_s, b.after_n = s, n
  return s < cap_s or (s == cap_s and n <= cap_n)
end

function token_bucket.owe(cell, b, s, n)
  cell.s, cell.n = plus(now_s, b.now_n, s, n)
  cell.dirty, cell.moved = true, false
end

-- charge is owe for what judge has worked out. It notes the text of the first step that a cell
-- is moved by.
function token_bucket.charge(cell, b)
  local s, n = now_s + b.after_s, b.now_n + b.after_n
  if n >= 1e9 then
    s, n = s + 1, n - 1e9
  end
  cell.s, cell.n = s, n
  cell.moved = not cell.dirty and b.moved
  cell.dirty = true
end

function token_bucket.debit(cell, b)
  if token_bucket.judge(cell, b) then
    token_bucket.charge(cell, b)
  elseif not b.stale then
    token_bucket.owe(cell, b, b.cap_s, b.cap_n)
  end
end

-- refund: cap holds the instant at which the charge ends. What lies between now and then is all
-- of it that time has not given back.
function token_bucket.refund(cell, b)
  local give_s, give_n = minus(b.cap_s, b.cap_n, now_s, b.now_n)
  if exceeds(give_s, give_n, b.cost_s, b.cost_n) then
    give_s, give_n = b.cost_s, b.cost_n
  end
  local s, n = minus(cell.s, cell.n, now_s, b.now_n)
  token_bucket.owe(cell, b, minus(s, n, give_s, give_n))
end

function token_bucket.reset(cell, b)
  token_bucket.owe(cell, b, 0, 0)
end
