-- Sliding windows (w): the units in this window, and so many of those in the one before as its
-- remaining part, rounded up to a slice, would hold if they had come evenly, rounded to a whole unit. The
-- state is when the window began, in microseconds since the epoch, its units and those of the one before.
function makers.w()
  local sliding = {}

  function sliding.make(arg)
    local cost, quota, every, offset, slice, n = unpack(ARGV, arg, arg + 5)
    local start = now_us - (now_us - offset) % every
    return {
      cost = cost + 0, quota = quota + 0, every = every + 0, n = n + 0,
      start = start, finish = start + every, left = ceil((start + every - now_us) / slice),
    }, 6
  end

  function sliding.read(raw)
    local n = numbers(raw, 3)
    return n and max(n[2], n[3]) < 2^32 and {start = n[1], count = n[2], prev = n[3]} or nil -- see windows
  end

  function sliding.roll(state, b)
    if not state or state.start < b.start - b.every then
      state = {start = b.start, count = 0, prev = 0}
    elseif state.start < b.start then
      state.count, state.prev = 0, state.start == b.start - b.every and state.count or 0
    end
    local stale = state.start > b.start -- see windows
    state.start = b.start
    return state, stale
  end

  local function used(state, b)
    return state.count + floor((state.prev * b.left + floor(b.n / 2)) / b.n)
  end

  function sliding.admits(state, b)
    return used(state, b) + b.cost <= b.quota
  end

  function sliding.tell(state)
    tell(state.count)
    tell(state.prev)
  end

  function sliding.take(state, b)
    state.count = state.count + b.cost
  end

  function sliding.debit(state, b)
    state.count = state.count + min(b.cost, max(b.quota - used(state, b), 0))
  end

  -- The receipt is when the window that was charged began.
  function sliding.refund(state, b, start)
    if state.start == start then
      state.count = max(state.count - b.cost, 0)
    elseif state.start - b.every == start then
      state.prev = max(state.prev - b.cost, 0)
    end
  end

  function sliding.reset(state)
    state.count, state.prev = 0, 0
  end

  function sliding.text(state, b)
    local finish = b.finish
    if state.count > 0 then
      finish = finish + b.every
    elseif state.prev == 0 then
      return nil
    end
    return text_of('%.0f %.0f %.0f', state.start, state.count, state.prev), floor(finish / 1e6), finish % 1e6 * 1e3
  end

  return sliding
end
