package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// trial is one random story, and a ledger of each key.
type trial struct {
	t       *testing.T
	h       *harness
	r       *rand.Rand
	name    string // what to say of a failure
	began   time.Time
	keys    []string
	limits  [][]core.Limit
	ledgers []ledger.Ledger
	paid    []paid
	wait    time.Duration // that one of the latest answers told
}

// paid is a charge that can be refunded, once.
type paid struct {
	key     int
	bucket  core.Bucket
	outcome core.Outcome
	entry   *ledger.Entry
}

var modelTests = map[string]func(*testing.T, *harness){
	"agrees with a slow model at random": func(t *testing.T, h *harness) {
		seed := rand.Uint64()
		if given, err := strconv.ParseUint(os.Getenv("TIERLIMIT_SEED"), 10, 64); err == nil {
			seed = given // that a failure printed
		}
		for _, k := range kinds {
			if k.runs(h.Store) {
				t.Run(k.name, func(t *testing.T) { tell(t, h, seed, 15, k) })
			}
		}
		t.Run("mixed", func(t *testing.T) { tell(t, h, seed, 30, kinds...) })
	},
}

// tell tells so many stories, of keys of these kinds.
func tell(t *testing.T, h *harness, seed uint64, stories int, of ...kind) {
	for story := range stories {
		s := &trial{t: t, h: h, r: rand.New(rand.NewPCG(seed, uint64(story))), began: time.Now()}
		s.name = fmt.Sprintf("TIERLIMIT_SEED=%d, story %d", seed, story)
		for len(s.keys) < 1+s.r.IntN(4) {
			if k := of[s.r.IntN(len(of))]; k.runs(h.Store) {
				s.keys = append(s.keys, fmt.Sprint("model ", of[0].name, len(of), " ", story, " ", len(s.keys)))
				s.limits = append(s.limits, k.limits(s.r))
			}
		}
		s.ledgers = make([]ledger.Ledger, len(s.keys))
		for step := 0; step < 50 && !s.late(); step++ {
			s.step()
			if t.Failed() {
				return
			}
		}
	}
}

// late tells that the story took so long that a store may have dropped, by a clock of its own, what
// said nothing any more when it was written.
func (s *trial) late() bool { return time.Since(s.began) > 400*time.Millisecond }

func (s *trial) step() {
	switch n := s.r.IntN(12); {
	case n < 5:
		s.judge(true)
	case n < 6:
		s.judge(false)
	case n < 7:
		s.debit()
	case n < 8 && len(s.paid) > 0:
		s.refund()
	case n < 9 && s.r.IntN(5) == 0:
		s.reset()
	default:
		s.h.Clock.Advance(s.gap())
	}
}

// gap is a telling span, or any.
func (s *trial) gap() time.Duration {
	l := s.limits[s.r.IntN(len(s.limits))][0]
	near := []time.Duration{-time.Microsecond, -1, 0, 0, 1, time.Microsecond}[s.r.IntN(6)]
	switch s.r.IntN(7) {
	case 0:
		return ledger.UnitTime(l)
	case 1:
		_, end := ledger.Window(l, s.h.Clock.Now())
		return max(end.Sub(s.h.Clock.Now())+near, 0)
	case 2, 3:
		return max(s.wait+near, 0)
	case 4:
		return l.Period + near
	case 5:
		return time.Duration(s.r.Int64N(int64(l.Period) * 3))
	}
	return time.Duration(s.r.Int64N(int64(ledger.UnitTime(l)) + 1))
}
