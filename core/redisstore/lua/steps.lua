-- Token buckets that get several units at once (s), at every multiple of an interval since the epoch.
-- The clock goes in units: so many have come back since the epoch. The state is that number at
-- which the bucket is full.
function makers.s()
  local steps = {}

  function steps.make(arg)
    local cost, burst, step, spent, interval = unpack(ARGV, arg, arg + 4)
    return {
      cost = cost + 0, burst = burst + 0, step = step + 0, spent = spent + 0, interval = interval + 0,
      now = floor(now_us / interval) * step,
    }, 5
  end

  function steps.read(raw)
    local n = numbers(raw, 1)
    return n and {full = n[1]}
  end

  -- ends is when the bucket is full, in microseconds, or, if it does not start full, new again.
  local function ends(state, b)
    local full = ceil(state.full / b.step)
    if b.spent > 0 then
      return (full + ceil(b.burst / b.step)) * b.interval + memory_s * 1e6
    end
    return full * b.interval
  end

  function steps.roll(state, b, judges)
    if not state or (b.spent > 0 and now_us >= ends(state, b)) then
      return {full = b.now + b.spent}, b.spent > 0
    end
    local stale = judges and state.full > b.now + b.burst
    state.full = max(stale and b.now + b.burst or state.full, b.now)
    return state, stale
  end

  function steps.admits(state, b)
    return state.full - b.now + b.cost <= b.burst
  end

  function steps.tell(state, b)
    tell(state.full - b.now)
  end

  function steps.take(state, b)
    state.full = state.full + b.cost
  end

  function steps.debit(state, b)
    state.full = max(min(state.full + b.cost, b.now + b.burst), state.full)
  end

  function steps.refund(state, b, ends)
    state.full = max(state.full - min(b.cost, max(ends - b.now, 0)), b.now)
  end

  function steps.reset(state, b)
    state.full = b.now
  end

  function steps.text(state, b)
    local us = ends(state, b)
    return text_of('%.0f', state.full), floor(us / 1e6), us % 1e6 * 1e3
  end

  return steps
end
