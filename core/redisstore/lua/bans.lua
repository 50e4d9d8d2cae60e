-- Bans (b): denials are counted, not charges. debit is one denial whatever the cost, and take
-- nothing. The state is when the latest ban ends, in microseconds since the epoch, which one in a row
-- that was, and the instants of the denials that count.
function makers.b()
  local bans = {}

  function bans.make(arg)
    local after, within, length, multiply, most = unpack(ARGV, arg, arg + 4)
    return {after = after + 0, within = within + 0, length = length + 0, multiply = multiply + 0, most = most + 0}, 5
  end

  function bans.read(raw)
    if not find(raw, '^%d+ %d+[%d ]*$') then
      return nil
    end
    local n = {}
    for word in string.gmatch(raw, '%d+') do
      n[#n + 1] = tonumber(word)
    end
    local state = {ends = n[1], count = n[2], log = {}}
    for k = 3, #n do
      state.log[k - 2] = n[k]
    end
    return state
  end

  -- lasts is how long the nth ban in a row is.
  local function lasts(b, n)
    local length = b.length
    while n > 1 and length < b.most do
      length, n = min(length * b.multiply, b.most), n - 1
      if b.multiply == 1 then
        break
      end
    end
    return length
  end

  local function memory(b, n)
    return max(b.within, lasts(b, n))
  end

  -- What lies ahead was left behind by a clock that stepped back: it is moved to now, and a ban ends no
  -- later than one that begins now would.
  function bans.roll(state, b)
    if not state then
      return {ends = 0, count = 0, log = {}}, false
    end
    local log, stale = {}, false
    for _, us in ipairs(state.log) do
      stale = stale or us > now_us
      if us > now_us - b.within then
        log[#log + 1] = min(us, now_us)
      end
    end
    state.log = log
    if state.count > 0 and now_us >= state.ends + memory(b, state.count) then
      state.ends, state.count = 0, 0
    elseif state.count > 0 and state.ends > now_us + lasts(b, state.count) then
      state.ends, stale = now_us + lasts(b, state.count), true
    end
    return state, stale
  end

  local function banned(state)
    return state.count > 0 and now_us < state.ends
  end

  function bans.admits(state)
    return not banned(state)
  end

  function bans.tell(state)
    tell(banned(state) and state.ends or 0)
    tell(#state.log)
  end

  function bans.take() end

  function bans.debit(state, b)
    if banned(state) then
      return
    end
    state.log[#state.log + 1] = now_us
    if #state.log >= b.after then
      state.count = state.count + 1
      state.ends, state.log = now_us + lasts(b, state.count), {}
    end
  end

  function bans.refund() end

  function bans.reset(state)
    state.ends, state.count, state.log = 0, 0, {}
  end

  function bans.text(state, b)
    local ends, words = 0, {text_of('%.0f %.0f', state.ends, state.count)}
    if state.count > 0 then
      ends = state.ends + memory(b, state.count)
    end
    for _, us in ipairs(state.log) do
      words[#words + 1] = text_of('%.0f', us)
      ends = max(ends, us + b.within)
    end
    return table.concat(words, ' '), floor(ends / 1e6), ends % 1e6 * 1e3
  end

  return bans
end
