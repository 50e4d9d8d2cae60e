-- Token buckets (t), token buckets that do not start full (u) and leaky buckets (l). The state is the
-- instant at which the bucket is full; what lies between now and then is its debt. Counting is in
-- ticks of one nanosecond, or of more where that would be more than an integer holds.
local function buckets(letter)
  local function exceeds(as, an, bs, bn)
    return as > bs or (as == bs and an > bn)
  end

  local function plus(as, an, bs, bn)
    local s, n = as + bs, an + bn
    if n >= 1e9 then
      return s + 1, n - 1e9
    end
    return s, n
  end

  -- minus gives a - b, or zero where b is later.
  local function minus(as, an, bs, bn)
    local s, n = as - bs, an - bn
    if n < 0 then
      s, n = s - 1, n + 1e9
    end
    if s < 0 then
      return 0, 0
    end
    return s, n
  end

  local bucket = {}

  function bucket.make(arg)
    local tick, cost_s, cost_n, cap_s, cap_n, spent_s, spent_n = unpack(ARGV, arg, arg + 6)
    return {
      tick = tick + 0, cost_s = cost_s + 0, cost_n = cost_n + 0, cap_s = cap_s + 0, cap_n = cap_n + 0,
      spent_s = spent_s + 0, spent_n = spent_n + 0, now_n = now_n - now_n % tick,
    }, 7
  end

  function bucket.read(raw)
    if #raw >= 10 and #raw <= 25 and find(raw, '^%d+$') then
      return {s = sub(raw, 1, -10) + 0, n = sub(raw, -9) + 0}
    end
  end

  -- debt is a whole number of ticks.
  local function debt(state, b)
    local s, n = minus(state.s, state.n, now_s, b.now_n)
    return s, n - n % b.tick
  end

  local function owe(state, b, s, n)
    state.s, state.n = plus(now_s, b.now_n, s, n)
  end

  -- ends is when one that does not start full is new again.
  local function ends(state, b)
    return plus(state.s + memory_s, state.n, b.cap_s, b.cap_n)
  end

  local function over(state, b)
    local s, n = ends(state, b)
    return letter == 'u' and not exceeds(s, n, now_s, b.now_n)
  end

  -- A debt beyond the time to full was left by a wider limit or a clock that has stepped back; it is
  -- forgiven once, by writing it anew.
  function bucket.roll(state, b, judges)
    if not state or over(state, b) then
      state = {}
      owe(state, b, b.spent_s, b.spent_n)
      return state, letter == 'u'
    end
    local s, n = debt(state, b)
    local stale = judges and exceeds(s, n, b.cap_s, b.cap_n)
    if stale then
      s, n = b.cap_s, b.cap_n
    end
    owe(state, b, s, n)
    return state, stale
  end

  function bucket.admits(state, b)
    local s, n = debt(state, b)
    s, n = plus(s, n, b.cost_s, b.cost_n)
    return not exceeds(s, n, b.cap_s, b.cap_n)
  end

  -- A debt is told in nanoseconds, or, where that is not exact, as minus the seconds and then the
  -- nanoseconds.
  function bucket.tell(state, b)
    local s, n = debt(state, b)
    if s < 9e6 then
      tell(s * 1e9 + n)
    else
      tell(-s)
      tell(n)
    end
  end

  function bucket.take(state, b)
    state.s, state.n = plus(state.s, state.n, b.cost_s, b.cost_n)
  end

  function bucket.debit(state, b)
    local s, n = debt(state, b)
    if exceeds(s, n, b.cap_s, b.cap_n) then
      return -- it owes more than that already
    end
    s, n = plus(s, n, b.cost_s, b.cost_n)
    if exceeds(s, n, b.cap_s, b.cap_n) then
      s, n = b.cap_s, b.cap_n
    end
    owe(state, b, s, n)
  end

  -- The receipt is the instant at which the charge ends. What lies between now and then is all of it
  -- that time has not given back. Of a leaky bucket only the last slot can be given back: others
  -- have been told to come after theirs.
  function bucket.refund(state, b, end_s, end_n)
    if letter == 'l' and (state.s ~= end_s or state.n ~= end_n) then
      return
    end
    local give_s, give_n = minus(end_s, end_n, now_s, b.now_n)
    if exceeds(give_s, give_n, b.cost_s, b.cost_n) then
      give_s, give_n = b.cost_s, b.cost_n
    end
    local s, n = debt(state, b)
    owe(state, b, minus(s, n, give_s, give_n))
  end

  function bucket.reset(state, b)
    owe(state, b, 0, 0)
  end

  function bucket.text(state, b)
    local text = text_of('%.0f%09.0f', state.s, state.n)
    if letter == 'u' then
      return text, ends(state, b)
    end
    return text, state.s, state.n
  end

  return bucket
end

makers.t, makers.l, makers.u = buckets, buckets, buckets
