-- A changed cell is saved at the end, and what it held before is known until then.
local changed = {} -- the bucket that it was charged for, or true where it was more than that
local was_s, was_n = {}, {} -- the instant before, where it was more
local stale = {} -- what is stored was too far ahead

-- note keeps what a cell holds before it is changed in any way but by a first charge.
local function note(i)
  local by = changed[i]
  if not by then
    was_s[i], was_n[i] = at_s[i], at_n[i]
  elseif by ~= true then
    local s, n = at_s[i] - by.cost_s, at_n[i] - by.cost_n
    if n < 0 then
      s, n = s - 1, n + 1e9
    end
    was_s[i], was_n[i] = s, n
  end
  changed[i] = true
end

-- owe sets what a bucket owes, counted from now.
local function owe(i, b, s, n)
  note(i)
  s, n = now_s + s, b.now_n + n
  if n >= 1e9 then
    s, n = s + 1, n - 1e9
  end
  at_s[i], at_n[i] = s, n
end

-- changes makes the operations that judge nothing; few batches have one.
local function changes()
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

  local function exceeds(as, an, bs, bn)
    return as > bs or (as == bs and an > bn)
  end

  local change = {}

  function change.debit(i, b)
    local s, n = minus(at_s[i], at_n[i], now_s, b.now_n)
    n = n - n % b.tick
    if exceeds(s, n, b.cap_s, b.cap_n) then
      return -- it owes more than that already
    end
    s, n = s + b.cost_s, n + b.cost_n
    if n >= 1e9 then
      s, n = s + 1, n - 1e9
    end
    if exceeds(s, n, b.cap_s, b.cap_n) then
      s, n = b.cap_s, b.cap_n
    end
    owe(i, b, s, n)
  end

  -- refund: cap holds the instant at which the charge ends. What lies between now and then is
  -- all of it that time has not given back.
  function change.refund(i, b)
    local give_s, give_n = minus(b.cap_s, b.cap_n, now_s, b.now_n)
    if exceeds(give_s, give_n, b.cost_s, b.cost_n) then
      give_s, give_n = b.cost_s, b.cost_n
    end
    local s, n = minus(at_s[i], at_n[i], now_s, b.now_n)
    owe(i, b, minus(s, n, give_s, give_n))
  end

  function change.reset(i, b)
    owe(i, b, 0, 0)
  end

  return change
end
