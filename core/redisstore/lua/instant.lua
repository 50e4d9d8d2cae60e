-- Instants and spans are two numbers, whole seconds and nanoseconds below 1e9. A double holds
-- each of them exactly, but not the two in one: today's nanoseconds lie beyond 2^53.

-- Below this many seconds a span in nanoseconds is exact as one number.
local exact_s = 9e6

-- A stored instant is one integer of nanoseconds as text. Anything else was not written here: it
-- says zero, or, where it is no number though as long as one, raises an error.
local function parse(text)
  if #text == 19 then -- of this century
    local n = sub(text, -9) + 0
    local s = (text - n) * 1e-9 + 0.5
    s = s - s % 1
    if s >= 1e9 and n >= 0 and n < 1e9 then
      return s, n
    end
  elseif #text >= 10 and #text <= 25 and find(text, '^%d+$') then
    return sub(text, 1, -10) + 0, sub(text, -9) + 0
  end
  return 0, 0
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
