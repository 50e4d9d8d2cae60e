package redisstore

import (
	"strconv"
)

// batch turns calls into the arguments of one script call. It is used again for the next: what
// it allocates each time is one string, of which the arguments are parts.
type batch struct {
	calls  []*call
	script *script

	text   []byte
	ends   []int // where in text each argument ends
	keys   keyring
	checks []byte // the last argument: see lua/head.lua
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
	b.text, b.ends, b.checks = b.text[:0], b.ends[:0], b.checks[:0]
	b.script = quick
	for _, c := range b.calls {
		if !c.quick() {
			b.script = general
			break
		}
	}
	b.keys.open(b.calls)
	for _, c := range b.calls {
		for i := range c.units {
			if key := c.units[i].key; b.keys.add(key) {
				b.text = append(b.text, prefix...)
				b.add(key)
			}
		}
	}
	keys := len(b.ends)
	b.add(sec)
	b.add(ns)
	b.addChecks(keys)
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

// addChecks says of each call what shape it has, after spelling those that are new, and which keys.
func (b *batch) addChecks(keys int) {
	spelt, next := 0, 0
	for _, c := range b.calls {
		var known *shape
		for i := max(spelt-maxShapes, 0); i < spelt && known == nil; i++ {
			if s := &b.shapes[i%maxShapes]; s.fits(c) {
				known = s
			}
		}
		if known == nil {
			if len(b.shapes) < maxShapes {
				b.shapes = append(b.shapes, shape{})
			}
			known = &b.shapes[spelt%maxShapes]
			known.op, known.units, known.arg = c.op, append(known.units[:0], c.units...), len(b.ends)-keys+1
			b.spell(c)
			spelt++
		}
		b.addNumber(known.arg)
		for range c.units {
			b.addNumber(int(b.keys.numbers[next]))
			next++
		}
	}
	b.text = append(b.text, b.checks...)
	b.add("")
}

// addNumber adds to the checks, in two bytes. A call has far fewer keys and arguments than that holds.
func (b *batch) addNumber(n int) { b.checks = append(b.checks, byte(n>>8), byte(n)) }

// arguments cuts the text up. A pointer to a string costs no allocation as an interface value.
func (b *batch) arguments(keys int) []any {
	text := string(b.text)
	b.parts, b.args = b.parts[:0], append(b.args[:0], "evalsha", &b.script.sha, keys)
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

// whole makes the arguments those of EVAL, for a server that does not know the script.
func (b *batch) whole() { b.args[0], b.args[1] = "eval", &b.script.text }

// clear forgets what the batch was made from.
func (b *batch) clear() {
	clear(b.calls)
	clear(b.parts)
	for i := range b.shapes {
		clear(b.shapes[i].units)
	}
	b.calls = b.calls[:0]
	b.keys.clear()
	for _, t := range b.tags {
		t.clear()
		t.reply, t.err = nil, nil
	}
}

// decode hands each call what its buckets owed, and reports whether the reply fits the batch.
func (b *batch) decode(reply []int64) (ok bool) {
	if len(reply) < 2 || reply[0] < 0 || reply[0] >= 1<<33 || reply[1] < 0 || reply[1] >= 1e9 {
		return false
	}
	now, rest := [2]int64{reply[0], reply[1]}, reply[2:]
	for _, c := range b.calls {
		c.now = now
		if !c.op.judges() {
			continue
		}
		for i := range c.units {
			if rest, ok = c.units[i].decode(now, rest); !ok {
				return false
			}
		}
	}
	return len(rest) == 0
}
