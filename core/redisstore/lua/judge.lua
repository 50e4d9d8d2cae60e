local reply, told = {now_s, now_n}, 2
local shapes, change = {}, nil
local arg, key, name = 4, 0, ARGV[3]

while name do
  local shape = shapes[name]
  if not shape then
    shape, arg = spell(arg)
    shapes[name] = shape
  end
  local all = true
  if shape.judges then
    for u = 1, #shape do
      local b, i = shape[u], first[key + u]
      -- The debt is no more than the time to full. A longer one was left by a wider limit or a
      -- clock that has stepped back; it is forgiven once, by writing it anew.
      local s, n = at_s[i] - now_s, at_n[i] - b.now_n
      if n < 0 then
        s, n = s - 1, n + 1e9
      end
      if s < 0 then
        s, n = 0, 0
      elseif b.tick > 1 then
        n = n - n % b.tick
      end
      local cap_s, cap_n = b.cap_s, b.cap_n
      local over = s > cap_s or (s == cap_s and n > cap_n)
      if over then
        s, n, stale[i] = cap_s, cap_n, true
      end
      told = told + 1
      if s < exact_s then
        reply[told] = s * 1e9 + n
      else
        reply[told], reply[told + 1] = -s, n
        told = told + 1
      end
      s, n = s + b.cost_s, n + b.cost_n
      if n >= 1e9 then
        s, n = s + 1, n - 1e9
      end
      local admits = s < cap_s or (s == cap_s and n <= cap_n)
      b.admits, b.stale, b.after_s, b.after_n = admits, over, s, n
      all = all and (admits or b.shadow)
    end
  else
    change = change or changes()
    for u = 1, #shape do
      change[shape.operation](first[key + u], shape[u])
    end
  end

  -- Every bucket that is not shadow admits, or none is charged.
  if shape.takes then
    for u = 1, #shape do
      local b, i = shape[u], first[key + u]
      if not b.admits then
        if b.stale then
          owe(i, b, b.cap_s, b.cap_n)
        end
      elseif all or b.shadow then
        if changed[i] or not b.step then
          note(i)
        else
          changed[i] = b
        end
        local s, n = now_s + b.after_s, b.now_n + b.after_n
        if n >= 1e9 then
          s, n = s + 1, n - 1e9
        end
        at_s[i], at_n[i] = s, n
      end
    end
  end
  key, name, arg = key + #shape, ARGV[arg], arg + 1
end
