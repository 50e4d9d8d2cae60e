-- A cell is what is known of a key while the batch runs. Its parts stand in one table each, under
-- the number of the key: a table for each cell would cost more than all that is done with it.
local numbers -- of each key the number that it has first
local at_s, at_n -- the instant it holds, 0 where nothing is owed
local changed -- true, or the bucket that was charged where that is all
local stale -- what is stored was too far ahead

-- Made from as many values as they will hold, these tables need not grow.
local function forget()
  at_s, at_n = {unpack(KEYS)}, {unpack(KEYS)}
  numbers, changed, stale = {}, {}, {}
end

local function stored(i)
  local raw = raws[i]
  if raw then
    local s, n = parse(raw)
    if s > now_s or (s == now_s and n > now_n) then
      return s, n
    end
  end
  return 0, 0
end

-- number enters the key that has number i.
local function number(key, i)
  numbers[key] = i
  at_s[i], at_n[i] = stored(i)
  return i
end
