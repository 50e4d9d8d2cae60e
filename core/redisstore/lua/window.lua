-- Fixed windows, of one length (f) or of a calendar (c). The state is when the window began, in
-- microseconds since the epoch, and the units in it. A state of a window that has not begun yet,
-- which a clock that stepped back leaves behind, stands for the present one, and is stored as that: else
-- it would stand for the next ones too.
local function windows(letter)
  local window = {}

  -- A calendar is its edges: when the window before, the present one, the next and the one after that
  -- begin by the caller's clock. Ours may be in any of the three.
  function window.make(arg)
    local b = {cost = ARGV[arg] + 0, quota = ARGV[arg + 1] + 0}
    if letter == 'f' then
      local every, offset = ARGV[arg + 2] + 0, ARGV[arg + 3] + 0
      b.start = now_us - (now_us - offset) % every
      b.finish = b.start + every
      return b, 4
    end
    local k = 3
    while k < 5 and now_us >= ARGV[arg + k] + 0 do
      k = k + 1
    end
    b.start, b.finish = ARGV[arg + k - 1] + 0, ARGV[arg + k] + 0
    return b, 6
  end

  function window.read(raw)
    local n = numbers(raw, 2)
    return n and n[2] <= 1e12 and {start = n[1], count = n[2]} or nil -- more than any quota is not ours
  end

  function window.roll(state, b)
    if not state or state.start < b.start then
      state = {start = b.start, count = 0}
    end
    local stale = state.start > b.start
    state.start = b.start
    return state, stale
  end

  function window.admits(state, b)
    return state.count + b.cost <= b.quota
  end

  function window.tell(state)
    tell(state.count)
  end

  function window.take(state, b)
    state.count = state.count + b.cost
  end

  function window.debit(state, b)
    state.count = max(state.count, min(state.count + b.cost, b.quota))
  end

  -- The receipt is when the window that was charged began.
  function window.refund(state, b, start)
    if state.start == start then
      state.count = max(state.count - b.cost, 0)
    end
  end

  function window.reset(state)
    state.count = 0
  end

  function window.text(state, b)
    if state.count > 0 then
      return text_of('%.0f %.0f', state.start, state.count), floor(b.finish / 1e6), b.finish % 1e6 * 1e3
    end
  end

  return window
end

makers.f, makers.c = windows, windows
