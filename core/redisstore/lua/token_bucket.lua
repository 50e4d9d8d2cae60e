-- A token bucket is the instant at which it will be full again. What lies between now and
-- then is its debt.
local token_bucket = {}

-- judge finds the debt, which is no more than the time to full. A longer one was left by a wider
-- limit or a clock that has stepped back; it is forgiven once, by writing it anew.
function token_bucket.judge(i, b)
  local s, n = at_s[i] - now_s, at_n[i] - b.now_n
  if n < 0 then
    s, n = s - 1, n + 1e9
  end
  if s < 0 then
    s, n = 0, 0
  elseif b.tick > 1 then
    n = n - n % b.tick
  end
  local cap_s, cap_n = b.cap_s, b.cap_n
  local over = s > cap_s or (s == cap_s and n > cap_n)
  if over then
    s, n, stale[i] = cap_s, cap_n, true
  end
  local after_s, after_n = s + b.cost_s, n + b.cost_n
  if after_n >= 1e9 then
    after_s, after_n = after_s + 1, after_n - 1e9
  end
  b.stale, b.after_s, b.after_n = over, after_s, after_n
  return s, n, after_s < cap_s or (after_s == cap_s and after_n <= cap_n)
end

local function owe(i, b, s, n)
  at_s[i], at_n[i] = plus(now_s, b.now_n, s, n)
  changed[i] = true
end

function token_bucket.charge(i, b)
  local s, n = now_s + b.after_s, b.now_n + b.after_n
  if n >= 1e9 then
    s, n = s + 1, n - 1e9
  end
  at_s[i], at_n[i] = s, n
  changed[i] = not changed[i] and b.step and b or true
end

-- clamp writes a debt that is too long as the longest there can be.
function token_bucket.clamp(i, b)
  owe(i, b, b.cap_s, b.cap_n)
end

function token_bucket.debit(i, b)
  local _, _, admits = token_bucket.judge(i, b)
  if admits then
    token_bucket.charge(i, b)
  elseif not b.stale then
    token_bucket.clamp(i, b)
  end
end

-- refund: cap holds the instant at which the charge ends. What lies between now and then is all
-- of it that time has not given back.
function token_bucket.refund(i, b)
  local give_s, give_n = minus(b.cap_s, b.cap_n, now_s, b.now_n)
  if exceeds(give_s, give_n, b.cost_s, b.cost_n) then
    give_s, give_n = b.cost_s, b.cost_n
  end
  local s, n = minus(at_s[i], at_n[i], now_s, b.now_n)
  owe(i, b, minus(s, n, give_s, give_n))
end

function token_bucket.reset(i, b)
  owe(i, b, 0, 0)
end
