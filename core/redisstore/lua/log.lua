-- Sliding logs (g): every charge is remembered for a period. The state is the units of entries that
-- have been forgotten and then the entries in the order of their instants: when, in microseconds
-- since the epoch, and how many units have been charged until then, its own included. Each number
-- takes seven bytes, so that an entry is found by halving and the front is cut off without
-- looking at the rest.
function makers.g()
  local pack, parse = struct.pack, struct.unpack
  local width = 14
  local log = {}

  function log.make(arg)
    return {cost = ARGV[arg] + 0, quota = ARGV[arg + 1] + 0, period = ARGV[arg + 2] + 0}, 3
  end

  -- at is the instant of entry k, upto the units until then; those of entry 0 are forgotten.
  local function at(raw, k)
    return (parse('>I7', raw, (k - 1) * width + 8))
  end

  local function upto(raw, k)
    return (parse('>I7', raw, k * width + 1))
  end

  local function entries(raw)
    return (#raw - 7) / width
  end

  -- first is the first entry of which holds(k) is true: from it on, it is of all.
  local function first(raw, holds)
    local low, high = 1, entries(raw) + 1
    while low < high do
      local k = floor((low + high) / 2)
      if holds(k) then
        high = k
      else
        low = k + 1
      end
    end
    return low
  end

  -- append adds units at an instant that is no earlier than any other.
  local function append(raw, us, units)
    local n = entries(raw)
    local total = upto(raw, n) + units
    if n > 0 and at(raw, n) == us then
      return sub(raw, 1, -8) .. pack('>I7', total)
    end
    return raw .. pack('>I7I7', us, total)
  end

  function log.read(raw)
    local n = entries(raw)
    if n < 1 or n % 1 ~= 0 then
      return nil
    end
    local last, units = at(raw, n), upto(raw, n)
    if last < at(raw, 1) or last >= 2^53 or units <= upto(raw, 0) or units >= 2^53 then
      return nil
    end
    return {raw = raw}
  end

  -- rebased counts from zero again, before the numbers are too large for a double.
  local function rebased(raw)
    local base = upto(raw, 0)
    if base < 2^52 then
      return raw
    end
    local parts = {pack('>I7', 0)}
    for k = 1, entries(raw) do
      parts[k + 1] = pack('>I7I7', at(raw, k), upto(raw, k) - base)
    end
    return table.concat(parts)
  end

  -- Charges that lie ahead, which a clock that stepped back leaves behind, are moved to now: nobody
  -- waits for longer than a period.
  function log.roll(state, b)
    local raw = state and state.raw or pack('>I7', 0)
    local gone = first(raw, function(k) return at(raw, k) > now_us - b.period end) - 1
    raw = rebased(sub(raw, gone * width + 1))
    local n = entries(raw)
    if n == 0 or upto(raw, n) <= upto(raw, 0) then -- none, or none that was written here
      return {raw = pack('>I7', 0)}, false
    end
    local kept = first(raw, function(k) return at(raw, k) > now_us end) - 1
    local stale = kept < n
    if stale then
      local units = upto(raw, n) - upto(raw, kept)
      raw = append(sub(raw, 1, 7 + kept * width), now_us, units)
    end
    return {raw = raw}, stale
  end

  local function used(state)
    return upto(state.raw, entries(state.raw)) - upto(state.raw, 0)
  end

  function log.admits(state, b)
    return used(state) + b.cost <= b.quota
  end

  -- leaves is the instant of the entry with which so many units have gone: no later than now, even where
  -- the log was not written here.
  local function leaves(raw, units)
    return min(now_us, at(raw, first(raw, function(k) return upto(raw, k) - upto(raw, 0) >= units end)))
  end

  function log.tell(state, b)
    local units, raw = used(state), state.raw
    local over = units + b.cost - b.quota
    tell(units)
    tell(units > 0 and leaves(raw, max(units - b.quota, 0) + 1) or 0)
    tell(over > 0 and b.cost <= b.quota and leaves(raw, over) or 0)
  end

  function log.take(state, b)
    state.raw = append(state.raw, now_us, b.cost)
  end

  function log.debit(state, b)
    local units = min(b.cost, b.quota - used(state))
    if units > 0 then
      state.raw = append(state.raw, now_us, units)
    end
  end

  -- The receipt is the instant of the charge, whose entry other charges may share.
  function log.refund(state, b, us)
    local raw, kept = state.raw, {}
    local k = first(raw, function(k) return at(raw, k) >= us end)
    if k > entries(raw) or at(raw, k) ~= us then
      return
    end
    local less = min(b.cost, upto(raw, k) - upto(raw, k - 1))
    for j = k, entries(raw) do
      local units = upto(raw, j) - less
      if j > k or units > upto(raw, k - 1) then
        kept[#kept + 1] = pack('>I7I7', at(raw, j), units)
      end
    end
    state.raw = sub(raw, 1, 7 + (k - 1) * width) .. table.concat(kept)
  end

  function log.reset(state)
    state.raw = pack('>I7', 0)
  end

  function log.text(state, b)
    local n = entries(state.raw)
    if n > 0 then
      local us = at(state.raw, n) + b.period
      return state.raw, floor(us / 1e6), us % 1e6 * 1e3
    end
  end

  return log
end
