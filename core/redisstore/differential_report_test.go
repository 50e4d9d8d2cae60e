package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
)

// differentialSteps is how many checks each algorithm is compared in; `make differential` raises it.
func differentialSteps(t *testing.T) int {
	text := os.Getenv("TIERLIMIT_DIFFERENTIAL")
	if text == "" {
		return 3000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TIERLIMIT_DIFFERENTIAL is %q, want the number of steps", text)
	}
	return n
}

func differentialSeed(t *testing.T) uint64 {
	text := os.Getenv("TIERLIMIT_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("TIERLIMIT_SEED is %q, want a seed that a failure printed", text)
	}
	return seed
}

// note keeps the latest steps for the report of a failure.
func (p *pair) note(c *redisstore.Check, want []core.Outcome, general bool) {
	for i, b := range c.Buckets {
		p.past = append(p.past, fmt.Sprintf("at %d %s (general %v) %s: %v, cost %d, shadow %v: %+v", p.clock.Now().UnixNano(), c.Op, general, b.Key, b.Limit, b.Cost, b.Shadow, want[i]))
	}
	p.past = p.past[max(len(p.past)-300, 0):]
}

func (p *pair) history(key string) (text string) {
	lines := slices.DeleteFunc(slices.Clone(p.past), func(line string) bool { return !strings.Contains(line, " "+key+": ") })
	return strings.Join(lines[max(len(lines)-10, 0):], "\n")
}
