-- A key outlives its instant by half a second to one: by a grace for nodes whose clocks differ
-- when a replica takes over, and up to the next step, so that a key that is moved along
-- seldom needs a new expiry.
local step_ms, slack_ms = 500, 999
local now_ms = now_s * 1000 + math.floor(now_n / 1e6)
local expiries, instants = {}, {} -- turning numbers into text is dear, and many get the same

local function ttl(s, n)
  local step = s * 2 + (n >= 5e8 and 1 or 0)
  local text = expiries[step]
  if not text then
    text = text_of('%.0f', step * step_ms + slack_ms - now_ms)
    expiries[step] = text
  end
  return text
end

local function put(i)
  local s, n = at_s[i], at_n[i]
  local known = instants[n]
  if not known or known.s ~= s then
    known = {s = s, text = text_of('%.0f%09.0f', s, n)}
    instants[n] = known
  end
  return command('SET', KEYS[i], known.text, 'PX', ttl(s, n))
end

-- undo takes back the saves of the cells up to number last.
local function undo(last)
  for i = 1, last do
    if changed[i] then
      note(i)
      if was_s[i] > 0 then
        command('SET', KEYS[i], raws[i], 'PX', ttl(was_s[i], was_n[i]))
      else
        command('DEL', KEYS[i])
      end
    end
  end
end

-- Beyond this many seconds an instant in nanoseconds is no integer of the server's.
local integer_s = 9.2e9

for i = 1, #KEYS do
  local by = changed[i]
  if by then
    local s, n = at_s[i], at_n[i]
    local from_s, from_n, span
    if by ~= true then
      from_s, from_n, span = s - by.cost_s, n - by.cost_n, by.step
      if from_n < 0 then
        from_s, from_n = from_s - 1, from_n + 1e9
      end
    else
      from_s, from_n = was_s[i], was_n[i]
      if not stale[i] and s - from_s < exact_s and from_s - s < exact_s then
        span = text_of('%.0f', (s - from_s) * 1e9 + n - from_n)
      end
    end
    local lived, result = from_s > now_s or (from_s == now_s and from_n > now_n), nil
    if s < now_s or (s == now_s and n <= now_n) then
      result = command('DEL', KEYS[i]) -- it says nothing any more
    elseif lived and span and s < integer_s then
      -- To add to what is stored and leave its expiry alone, while it stays in its step, is half
      -- the work of a SET. What cannot be added to, or is not what was read, is replaced.
      result = command('INCRBY', KEYS[i], span)
      if type(result) == 'number' then
        local off = result - (s * 1e9 + n)
        if off > 1024 or off < -1024 then
          result = put(i)
        elseif s ~= from_s or (n < 5e8) ~= (from_n < 5e8) then
          result = command('PEXPIRE', KEYS[i], ttl(s, n))
        end
      elseif find(result.err, 'integer') then
        result = put(i)
      end
    else
      result = put(i)
    end
    -- A write that is refused is refused by the server, not for its key: nothing stays.
    if type(result) == 'table' and result.err then
      undo(lived and i or i - 1)
      return result
    end
  end
end
return reply
