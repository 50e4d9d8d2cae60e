package redisstore

import "strconv"

// batch turns calls into the arguments of one script call. It is used again for the next: what
// it allocates each time is one string, of which the arguments are parts.
type batch struct {
	calls []*call

	text   []byte
	ends   []int // where in text each argument ends
	parts  []string
	args   []any
	shapes []shape

	tags  []*batch // of a Cluster: the parts of this batch, one for each tag
	reply []int64  // of such a part
	err   error
}

// head is what stands before the keys: the command, the script, the number of keys.
const head = 3

// encode writes the arguments. They are valid until the next encode.
func (b *batch) encode(prefix, sec, ns string) []any {
	b.text, b.ends = b.text[:0], b.ends[:0]
	keys := 0
	for _, c := range b.calls {
		for i := range c.units {
			b.text = append(b.text, prefix...)
			b.add(c.units[i].key)
		}
		keys += len(c.units)
	}
	b.add(sec)
	b.add(ns)
	b.addShapes()
	return b.arguments(keys)
}

// add ends an argument with s.
func (b *batch) add(s string) {
	b.text = append(b.text, s...)
	b.ends = append(b.ends, len(b.text))
}

func (b *batch) addInt(n int64) {
	b.text = strconv.AppendInt(b.text, n, 10)
	b.add("")
}

func (b *batch) addPair(sec, ns int64) {
	b.addInt(sec)
	b.addInt(ns)
}

// addShapes names the shape of each call, and spells those that are new.
func (b *batch) addShapes() {
	spelt := 0
	for _, c := range b.calls {
		name, known := spelt, false
		for i := max(spelt-maxShapes, 0); i < spelt && !known; i++ {
			if s := &b.shapes[i%maxShapes]; s.fits(c) {
				name, known = i, true
			}
		}
		b.addInt(int64(name))
		if known {
			continue
		}
		b.spell(c)
		if len(b.shapes) < maxShapes {
			b.shapes = append(b.shapes, shape{})
		}
		s := &b.shapes[spelt%maxShapes]
		s.op, s.units = c.op, append(s.units[:0], c.units...)
		spelt++
	}
}

// arguments cuts the text up. A pointer to a string costs no allocation as an interface value.
func (b *batch) arguments(keys int) []any {
	text := string(b.text)
	b.parts, b.args = b.parts[:0], append(b.args[:0], "evalsha", &scriptSHA, keys)
	from := 0
	for _, to := range b.ends {
		b.parts = append(b.parts, text[from:to])
		from = to
	}
	for i := range b.parts {
		b.args = append(b.args, &b.parts[i])
	}
	return b.args
}

// clear forgets what the batch was made from.
func (b *batch) clear() {
	clear(b.calls)
	clear(b.parts)
	for i := range b.shapes {
		clear(b.shapes[i].units)
	}
	b.calls = b.calls[:0]
	for _, t := range b.tags {
		t.clear()
		t.reply, t.err = nil, nil
	}
}

// decode hands each call what its buckets owed, and reports whether the reply fits the batch.
func (b *batch) decode(reply []int64) bool {
	if len(reply) < 2 {
		return false
	}
	now, rest := [2]int64{reply[0], reply[1]}, reply[2:]
	for _, c := range b.calls {
		c.now = now
		if !c.op.judges() {
			continue
		}
		for i := range c.units {
			u := &c.units[i]
			sec, ns := int64(0), int64(0)
			switch {
			case len(rest) > 0 && rest[0] >= 0:
				ns, rest = rest[0], rest[1:]
			case len(rest) > 1:
				sec, ns, rest = -rest[0], rest[1], rest[2:]
			default:
				return false
			}
			u.debt = u.rate.Join(sec, ns)
		}
	}
	return len(rest) == 0
}
