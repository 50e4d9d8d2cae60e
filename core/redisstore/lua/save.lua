-- A key outlives what it says by half a second: a grace for nodes whose clocks differ when a
-- replica takes over.
local grace_ms = 500

-- 2^62 ms are as good as a longer life, which Redis refuses.
local function save(i, text, s, n)
  local left = text and min((s - now_s) * 1e3 + ceil((n - now_n) / 1e6), 2^62) or 0
  if left <= 0 then
    return command('DEL', KEYS[i]) -- it says nothing any more
  end
  return command('SET', KEYS[i], text, 'PX', text_of('%.0f', left + grace_ms))
end

-- undo takes back the saves of the keys up to number last.
local function undo(last)
  for i = 1, last do
    local b = changed[i]
    if b then
      local good, found = pcall(b.algorithm.read, raws[i] or '')
      if good and found then
        local text, s, n = b.algorithm.text(b.algorithm.roll(found, b), b)
        save(i, text and raws[i], s, n)
      else
        command('DEL', KEYS[i])
      end
    end
  end
end

for i = 1, #KEYS do
  local b = changed[i]
  if b then
    local result = save(i, b.algorithm.text(states[i], b))
    -- A write that is refused is refused by the server, not for its key: nothing stays.
    if type(result) == 'table' and result.err then
      undo(i)
      return result
    end
  end
end
return reply
