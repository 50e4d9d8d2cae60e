package memstore

// leastCells is the smallest table: one cache line.
const leastCells = 4

// table finds buckets by open addressing with linear probing: from its home to its cell a
// bucket passes only cells that are in use. The zero table is empty. A table has at least one
// cell in four free, which keeps probes short and ends them.
type table struct {
	cells []cell // a power of two of them, or none
	n     int    // cells in use, whether or not they still owe
}

// find is where the bucket is, or -1.
func (t *table) find(hash uint64) int {
	mask := len(t.cells) - 1
	if mask < 0 {
		return -1
	}
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch c := &t.cells[i]; {
		case c.of(hash):
			return i
		case c.tag == 0:
			return -1
		}
	}
}

// set stores a bucket that may have a cell already, most likely at a place where it was seen
// before, or else takes one. It reports whether that is the table's only one.
func (t *table) set(c cell, at int, now int64) (first bool) {
	if uint(at) >= uint(len(t.cells)) || !t.cells[at].of(c.hash()) {
		if at = t.find(c.hash()); at < 0 {
			return t.add(c, now)
		}
	}
	t.cells[at] = c
	return false
}

// add takes a cell on the bucket's way that owes nothing, or a free one.
func (t *table) add(c cell, now int64) (first bool) {
	if len(t.cells) == 0 {
		t.resize(leastCells)
	}
	mask := len(t.cells) - 1
	i := c.home(mask)
	for ; t.cells[i].tag != 0; i = (i + 1) & mask {
		if !t.cells[i].owes(now) {
			t.cells[i] = c
			return false
		}
	}
	if t.n < len(t.cells)/4*3 {
		t.n++
		t.cells[i] = c
		return t.n == 1
	}
	if t.sweep(now); t.n > len(t.cells)/2 { // else it would be swept again soon
		t.resize(2 * len(t.cells))
	}
	t.n++
	t.place(c)
	return t.n == 1
}

// place puts a bucket into the first free cell from its home, without counting it.
func (t *table) place(c cell) {
	mask := len(t.cells) - 1
	i := c.home(mask)
	for t.cells[i].tag != 0 {
		i = (i + 1) & mask
	}
	t.cells[i] = c
}

// sweep drops the buckets that owe nothing, and moves the others up to where they go without
// them. It begins behind a free cell, so that none is moved past one not yet seen.
func (t *table) sweep(now int64) {
	mask := len(t.cells) - 1
	if t.n == 0 {
		return
	}
	start := 0
	for t.cells[start].tag != 0 {
		start++
	}
	for k := range t.cells {
		i := (start + k) & mask
		c := t.cells[i]
		if c.tag == 0 {
			continue
		}
		if t.cells[i] = (cell{}); c.owes(now) {
			t.place(c)
		} else {
			t.n--
		}
	}
}

// shrink gives memory back while an eighth or less is in use: far from where more is taken.
func (t *table) shrink() {
	if t.n == 0 {
		t.cells = nil
		return
	}
	size := len(t.cells)
	for size > leastCells && t.n <= size/8 {
		size /= 2
	}
	if size < len(t.cells) {
		t.resize(size)
	}
}

func (t *table) resize(size int) {
	old := t.cells
	t.cells = make([]cell, size)
	for _, c := range old {
		if c.tag != 0 {
			t.place(c)
		}
	}
}

// drop frees the cell at i, and moves up those behind it whose way leads across it.
func (t *table) drop(i int) {
	mask := len(t.cells) - 1
	for j := (i + 1) & mask; t.cells[j].tag != 0; j = (j + 1) & mask {
		if (j-t.cells[j].home(mask))&mask >= (j-i)&mask {
			t.cells[i] = t.cells[j]
			i = j
		}
	}
	t.cells[i] = cell{}
	t.n--
}
