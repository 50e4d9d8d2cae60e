-- Instants and spans are two numbers, whole seconds and nanoseconds below 1e9. A double holds
-- each of them exactly, but not the two in one: today's nanoseconds lie beyond 2^53.

-- A stored instant is one integer of nanoseconds as text. Anything else was not written here.
local function parse(text)
  if #text < 10 or #text > 25 or not find(text, '^%d+$') then
    return nil
  end
  return sub(text, 1, -10) + 0, sub(text, -9) + 0
end

local function format(s, n)
  return text_of('%.0f%09.0f', s, n)
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

local function plus(as, an, bs, bn)
  local s, n = as + bs, an + bn
  if n >= 1e9 then
    s, n = s + 1, n - 1e9
  end
  return s, n
end

local function exceeds(as, an, bs, bn)
  return as > bs or (as == bs and an > bn)
end

-- Below this many seconds a span in nanoseconds is exact as one number.
local exact_s = 9e6
