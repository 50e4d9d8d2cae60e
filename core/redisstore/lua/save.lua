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

local function put(key, s, n)
  return pcall('SET', key, instant(s, n), 'PX', ttl(step_of(s, n)))
end

-- Beyond this many seconds an instant in nanoseconds is no integer of the server's.
local integer_s = 9.2e9

-- move adds to what is stored and leaves the expiry alone while it stays in its step: half the
-- work of a SET. It returns nil where it cannot, or did not do as it should.
local function move(key, cell)
  local s, n, was_s = cell.s, cell.n, cell.was_s
  local ds, dn = s - was_s, n - cell.was_n
  if cell.stale or s > integer_s or was_s > integer_s or ds > exact_s or ds < -exact_s or byte(cell.raw) == 48 then
    return nil
  end
  local result = pcall('INCRBY', key, cell.moved or text_of('%.0f', ds * 1e9 + dn))
  if type(result) ~= 'number' then
    return result
  end
  local off = result - (s * 1e9 + n)
  if off > 1024 or off < -1024 then
    return nil
  end
  local step = step_of(s, n)
  return step == step_of(was_s, cell.was_n) or pcall('PEXPIRE', key, ttl(step))
end

-- save writes a cell, or removes one that says nothing any more, and returns the server's answer.
local function save(key, cell)
  local s, n = cell.s, cell.n
  if not exceeds(s, n, now_s, now_n) then
    return pcall('DEL', key)
  end
  return cell.lives and move(key, cell) or put(key, s, n)
end

-- undo takes a save back.
local function undo(key, cell)
  if cell.lives then
    pcall('SET', key, cell.raw, 'PX', ttl(step_of(cell.was_s, cell.was_n)))
  else
    pcall('DEL', key)
  end
end
