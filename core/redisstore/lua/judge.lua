local algorithms = {}

local function algorithm(letter)
  local a = algorithms[letter]
  if not a then
    a = makers[letter](letter)
    algorithms[letter] = a
  end
  return a
end

-- spell reads the shape that begins at ARGV[arg].
local function spell(arg)
  local shape = {operation = ARGV[arg]}
  local count = ARGV[arg + 1] + 0
  arg = arg + 2
  for u = 1, count do
    local a = algorithm(ARGV[arg])
    local b, width = a.make(arg + 2)
    b.algorithm, b.shadow = a, ARGV[arg + 1] == '1'
    arg = arg + 2 + width
    if shape.operation == 'refund' then
      b.receipt_a, b.receipt_b = ARGV[arg] + 0, ARGV[arg + 1] + 0
      arg = arg + 2
    end
    shape[u] = b
  end
  return shape
end

local states, known, changed = {}, {}, {} -- by key; changed is the bucket by which it is to be saved

-- held is what key i holds: nil where it says nothing.
local function held(i, b)
  if not known[i] then
    local good, found = pcall(b.algorithm.read, raws[i] or '')
    states[i], known[i] = good and found or nil, true
  end
  return states[i]
end

-- copy is for all that a check does: a bucket that is not changed says to the next check, which may be of
-- another limit, what it said before.
local function copy(state)
  local out = state and {}
  for name, value in pairs(state or {}) do
    out[name] = value
  end
  return out
end

local shapes, checks, at = {}, {byte(ARGV[#ARGV], 1, -1)}, 1

local function number()
  at = at + 2
  return checks[at - 2] * 256 + checks[at - 1]
end

while at < #checks do
  local where = number()
  local shape = shapes[where] or spell(where)
  shapes[where] = shape
  local judges, takes, all = shape.operation == 'take' or shape.operation == 'peek', shape.operation == 'take', true
  for u = 1, #shape do
    local b, i = shape[u], number()
    local a = b.algorithm
    local s, stale = a.roll(copy(held(i, b)), b, judges)
    b.key, b.state = i, s
    if judges then
      b.admits = a.admits(s, b)
      all = all and (b.admits or b.shadow)
      a.tell(s, b)
      if takes and stale then
        states[i], changed[i] = s, b
      end
    else
      a[shape.operation](s, b, b.receipt_a, b.receipt_b)
      states[i], changed[i] = s, b
    end
  end
  -- Every bucket that is not shadow admits, or none is charged.
  if takes then
    for u = 1, #shape do
      local b = shape[u]
      if b.admits and (all or b.shadow) then
        b.algorithm.take(b.state, b)
        states[b.key], changed[b.key] = b.state, b
      end
    end
  end
end
