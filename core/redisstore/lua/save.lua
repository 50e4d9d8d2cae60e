-- A key outlives its instant by half a second to one: by a grace for nodes whose clocks differ
-- when a replica takes over, and up to the next step, so that a key that is moved along
-- seldom needs a new expiry.
local step_ms, slack_ms = 500, 999
local now_ms = now_s * 1000 + math.floor(now_n / 1e6)

local function step_of(s, n)
  return s * 2 + (n >= 5e8 and 1 or 0)
end

-- Turning numbers into text is dear, and many keys of a batch get the same.
local instants, expiries = {}, {}

local function instant(s, n)
  local known = instants[n]
  if not known or known.s ~= s then
    known = {s = s, text = format(s, n)}
    instants[n] = known
  end
  return known.text
end

local function ttl(step)
  local text = expiries[step]
  if not text then
    text = text_of('%.0f', step * step_ms + slack_ms - now_ms)
    expiries[step] = text
  end
  return text
end

-- Beyond this many seconds an instant in nanoseconds is no integer of the server's.
local integer_s = 9.2e9

-- move adds to what is stored and leaves the expiry alone while it stays in its step: half the
-- work of a SET. It returns nil where it cannot, or did not do as it should.
local function move(key, s, n, from_s, from_n, span)
  local result = command('INCRBY', key, span)
  if type(result) ~= 'number' then
    return not find(result.err, 'integer') and result or nil
  end
  local off = result - (s * 1e9 + n)
  if off > 1024 or off < -1024 then
    return nil
  end
  return s == from_s and (n < 5e8) == (from_n < 5e8) or command('PEXPIRE', key, ttl(step_of(s, n)))
end

-- save writes a cell, or removes one that says nothing any more, and returns the server's answer.
local function save(i, by)
  local key, s, n = KEYS[i], at_s[i], at_n[i]
  if s < now_s or (s == now_s and n <= now_n) then
    return command('DEL', key)
  end
  local from_s, from_n, span
  if by == true then
    from_s, from_n = stored(i)
    if not stale[i] and s - from_s < exact_s and from_s - s < exact_s then
      span = text_of('%.0f', (s - from_s) * 1e9 + n - from_n)
    end
  else
    from_s, from_n, span = s - by.cost_s, n - by.cost_n, by.step
    if from_n < 0 then
      from_s, from_n = from_s - 1, from_n + 1e9
    end
  end
  return span and s < integer_s and (from_s > now_s or (from_s == now_s and from_n > now_n))
    and move(key, s, n, from_s, from_n, span)
    or command('SET', key, instant(s, n), 'PX', ttl(step_of(s, n)))
end

-- undo takes a save back.
local function undo(i)
  local s, n = stored(i)
  if s > 0 then
    command('SET', KEYS[i], raws[i], 'PX', ttl(step_of(s, n)))
  else
    command('DEL', KEYS[i])
  end
end

-- A write that is refused is refused by the server, not for its key: nothing of the batch stays.
local function save_all()
  for i = 1, #KEYS do
    local by = changed[i]
    if by then
      local result = save(i, by)
      if type(result) == 'table' and result.err then
        for j = 1, stored(i) > 0 and i or i - 1 do
          if changed[j] then
            undo(j)
          end
        end
        return result
      end
    end
  end
end
