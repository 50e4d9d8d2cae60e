package memstore

import "github.com/tierlimit/tierlimit/core/internal/tokenbucket"

// tagBits of a tag tell the resolution. They take the place of as many bits at the top of the
// hash, which the shard tells already: nothing of the hash is lost.
const tagBits = 2

// perSec is the ticks in a second of each resolution. The first is that of no cell at all, so
// that the zero cell is an empty one.
var perSec = [1 << tagBits]int64{0, 1e9, 1e6, 1e3}

// cell is a bucket, or room for one, in 16 bytes: four to a cache line.
type cell struct {
	tag  uint64 // hash << tagBits | resolution; 0: nobody's
	full int64  // the instant, in ticks since the store was made, at which it will be full
}

func newCell(hash uint64, r *tokenbucket.Rate, full int64) cell {
	resolution := uint64(1)
	for perSec[resolution] != r.PerSec {
		resolution++
	}
	return cell{tag: hash<<tagBits | resolution, full: full}
}

// of reports whether the cell is the bucket's with that hash.
func (c *cell) of(hash uint64) bool { return (c.tag^hash<<tagBits)-1 < 1<<tagBits-1 }

func (c *cell) hash() uint64 { return c.tag >> tagBits }

// home is where in a table of a power of two the bucket would like to be.
func (c *cell) home(mask int) int { return int(c.hash()) & mask }

func (c *cell) perSec() int64 { return perSec[c.tag&(1<<tagBits-1)] }

// fullIn is the instant in another rate's ticks.
func (c *cell) fullIn(r *tokenbucket.Rate) int64 {
	return r.Join(tokenbucket.Rate{PerSec: c.perSec()}.Split(c.full))
}

// owes reports whether the bucket is not full at that instant, in nanoseconds. What owes nothing
// says nothing, and its cell may be anybody's.
func (c *cell) owes(now int64) bool {
	return c.full > tokenbucket.Rate{PerSec: c.perSec()}.Ticks(now)
}
