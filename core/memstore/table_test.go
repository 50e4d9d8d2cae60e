package memstore

import (
	"math/rand/v2"
	"testing"

	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

// rates has one of each resolution; the hash chooses.
var rates = [3]tokenbucket.Rate{{PerSec: 1e9}, {PerSec: 1e6}, {PerSec: 1e3}}

// owed is what a table has to remember: the hash and when it is paid, in nanoseconds.
type owed map[uint64]int64

func (o owed) cell(hash uint64) cell {
	r := &rates[hash%3]
	return newCell(hash, r, r.Ticks(o[hash]))
}

// check looks for everything that is still owed, and for anything that is there twice.
func (o owed) check(t *testing.T, tb *table, now int64) {
	t.Helper()
	for hash, until := range o {
		if i := tb.find(hash); until > now && (i < 0 || tb.cells[i] != o.cell(hash)) {
			t.Fatalf("%x, owed for %d more, is at %d of %d", hash, until-now, i, len(tb.cells))
		}
	}
	used, seen := 0, map[uint64]bool{}
	for i := range tb.cells {
		c := &tb.cells[i]
		if c.tag == 0 {
			continue
		}
		if used++; seen[c.hash()] {
			t.Fatalf("%x is there twice", c.hash())
		}
		seen[c.hash()] = true
		if tb.find(c.hash()) != i {
			t.Fatalf("%x at %d is out of reach from its home", c.hash(), i)
		}
	}
	if used != tb.n {
		t.Fatalf("%d cells in use, counted %d", used, tb.n)
	}
}

// Whatever is added, dropped, swept, grown and shrunk in whatever order, what is owed is found.
// Homes are few and lie about the table's end, so that ways are long and lead around it.
func TestTableForgetsNothingThatIsOwed(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 300 {
		var tb table
		o, now := owed{}, int64(0)
		keys := 1 + rng.Uint64N(300)
		for range 400 {
			hash := (rng.Uint64N(keys)<<32 | (rng.Uint64N(6) - 3)) << tagBits >> tagBits
			switch n := rng.IntN(100); {
			case n < 60:
				o[hash] = now + 1e6*(1+rng.Int64N(1000))
				tb.set(o.cell(hash), rng.IntN(len(tb.cells)+2)-1, now)
			case n < 75:
				if i := tb.find(hash); i >= 0 {
					tb.drop(i)
				}
				delete(o, hash)
			case n < 85:
				now += 1e6 * rng.Int64N(200)
			case n < 87:
				now += 1e9
			case n < 95:
				tb.sweep(now)
			default:
				tb.sweep(now)
				tb.shrink()
			}
			if o.check(t, &tb, now); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// Cells that owe nothing are taken on the spot, and a table of short debts does not grow.
func TestTableTakesWhatIsPaid(t *testing.T) {
	var tb table
	for i := range int64(100_000) {
		now := i * 1000
		tb.set(newCell(rand.Uint64()>>tagBits, &rates[0], now+50_000), -1, now) // 50 at a time
	}
	if n := len(tb.cells); n > 128 {
		t.Errorf("%d cells for 50 debts at a time", n)
	}
	tb = table{}
	for i := range int64(100) { // all have one home
		if tb.set(newCell(uint64(i)<<32, &rates[0], i+1), -1, i); tb.n != 1 {
			t.Fatalf("%d cells in use, want the one that each finds paid", tb.n)
		}
	}
}

// A table gives back what a flood has taken, and nothing while it is in use.
func TestTableShrinks(t *testing.T) {
	var tb table
	o := owed{}
	for hash := range uint64(10_000) {
		o[hash] = 1e9
		if hash%100 == 0 {
			o[hash] = 2e9
		}
		tb.set(o.cell(hash), -1, 0)
	}
	full := len(tb.cells)
	if tb.shrink(); len(tb.cells) != full {
		t.Errorf("%d of %d cells left while all are in use", len(tb.cells), full)
	}
	tb.sweep(1e9)
	tb.shrink()
	if o.check(t, &tb, 1e9); tb.n != 100 || len(tb.cells) > 800 {
		t.Errorf("%d cells for %d debts, want 800 or less for 100", len(tb.cells), tb.n)
	}
	tb.sweep(2e9)
	if tb.shrink(); tb.cells != nil {
		t.Errorf("%d cells for nothing", len(tb.cells))
	}
}

// Each resolution is kept beside all of the hash that the shard does not tell.
func TestCellKeepsResolutionAndHash(t *testing.T) {
	for _, r := range rates {
		for _, hash := range []uint64{0, 1, 2, 3, 1<<(64-tagBits) - 1, rand.Uint64() >> tagBits} {
			c := newCell(hash, &r, 7)
			if c.tag == 0 || c.perSec() != r.PerSec || !c.of(hash) || c.of(hash^1) || c.of(hash^1<<(63-tagBits)) {
				t.Errorf("%x at %d a second: %+v", hash, r.PerSec, c)
			}
			if tick := 1e9 / r.PerSec; !c.owes(7*tick-1) || c.owes(7*tick) {
				t.Errorf("%x at %d a second: owes until another instant than 7 ticks", hash, r.PerSec)
			}
			if (&cell{}).of(hash) {
				t.Errorf("an empty cell is taken for %x", hash)
			}
		}
	}
}
