package floodguard_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/floodguard"
)

func TestMistakesAreErrorsThatNameTheField(t *testing.T) {
	ok := floodguard.WithThreshold(10)
	for says, opts := range map[string][]floodguard.Option{
		"option is nil":              {ok, nil},
		"threshold is 0":             {},
		"threshold is -1":            {floodguard.WithThreshold(-1)},
		"threshold is 4294967296":    {floodguard.WithThreshold(1 << 32)},
		"epsilon is 0":               {ok, floodguard.WithError(0, 0.01)},
		"epsilon is 0.2":             {ok, floodguard.WithError(0.2, 0.01)},
		"epsilon is NaN":             {ok, floodguard.WithError(nan(), 0.01)},
		"epsilon is 1e-09":           {ok, floodguard.WithError(1e-9, 0.01)},
		"delta is 0":                 {ok, floodguard.WithError(0.01, 0)},
		"delta is 0.6":               {ok, floodguard.WithError(0.01, 0.6)},
		"delta is NaN":               {ok, floodguard.WithError(0.01, nan())},
		"window is 0s":               {ok, floodguard.WithWindow(0)},
		"window is 24h0m0.000000001": {ok, floodguard.WithWindow(24*time.Hour + 1)},
		"refuse-above is 10":         {ok, floodguard.WithRefuseAbove(10)},
		"refuse-above is -1":         {ok, floodguard.WithRefuseAbove(-1)},
		"refuse-above is 4294967296": {ok, floodguard.WithRefuseAbove(1 << 32)},
		"logger is nil":              {ok, floodguard.WithLogger(nil)},
	} {
		if g, err := floodguard.New(opts...); err == nil || g != nil || !strings.HasPrefix(err.Error(), "floodguard: "+says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	if b := (*floodguard.Guard)(nil).Bounds(); b != (core.GuardBounds{}) {
		t.Errorf("a nil guard has the bounds %+v", b)
	}
}

func nan() float64 { z := 0.0; return z / z }

func TestAdmitAllocatesNothing(t *testing.T) {
	g := guard(t, floodguard.WithThreshold(10), floodguard.WithRefuseAbove(20))
	for _, key := range []string{"a", "b"} {
		if n := testing.AllocsPerRun(100, func() { g.Admit(key, 1); g.Peek(key, 1) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// A refusal is of a key that has asked for more than the threshold and what the sketch may err, and
// who stays away for as long as told is not refused again.
func TestRefusalsEndWhenTold(t *testing.T) {
	for _, burst := range []time.Duration{0, 40 * time.Second, 61 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := guard(t, floodguard.WithThreshold(10), floodguard.WithRefuseAbove(100))
			for i := range 99 {
				if v := verdict(g, "key", 1); v == core.RefuseKey {
					t.Fatalf("refused after %d units", i+1)
				}
			}
			time.Sleep(burst)
			for range 100 {
				g.Admit("key", 1)
			}
			v, wait := g.Admit("key", 1)
			peeked, _ := g.Peek("key", 1)
			if v != core.RefuseKey || peeked != core.RefuseKey || wait <= 0 || wait > g.Bounds().Memory {
				t.Fatalf("verdict %d, peeked %d, wait %v", v, peeked, wait)
			}
			time.Sleep(wait)
			synctest.Wait()
			if v := verdict(g, "key", 1); v == core.RefuseKey {
				t.Errorf("refused after the %v that it was told", wait)
			}
		})
	}
}

// A sketch that errs by as much as the threshold of refusal refuses nobody, and says what it is.
func TestTooSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := guard(t, floodguard.WithError(0.1, 0.1), floodguard.WithThreshold(10), floodguard.WithRefuseAbove(100), floodguard.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if s := g.Stats(); s.TooSmall || s.Error != 0 || s.Units != 0 {
			t.Errorf("empty: %+v", s)
		}
		for i := range 200_000 {
			if v := verdict(g, fmt.Sprint(i%10_000), 1); v == core.RefuseKey && i > 1000 {
				t.Fatalf("request %d refused", i)
			}
		}
		s := g.Stats()
		if !s.TooSmall || s.Units != 200_000 || s.Error < 19_000 || s.Error > 20_000 || s.Passed+s.Checked+s.Refused != 200_000 {
			t.Errorf("%+v", s)
		}
		if n := strings.Count(log.String(), "too small"); n != 1 {
			t.Errorf("the log tells %d times that it is too small:\n%s", n, log.String())
		}
		for range 4 {
			time.Sleep(62 * time.Second)
			synctest.Wait()
			g.Admit("key", 1)
		}
		if s := g.Stats(); s.TooSmall || s.Units > 2 {
			t.Errorf("later: %+v", s)
		}
		if n := strings.Count(log.String(), "large enough"); n != 1 || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("the log tells %d times that it is large enough:\n%s", n, log.String())
		}
	})
}

func TestTopKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, floodguard.WithThreshold(1000))
		random := rand.New(rand.NewPCG(3, 4))
		truth := map[string]uint64{}
		for i := range 300_000 {
			key := fmt.Sprint("cold", i)
			if random.IntN(3) == 0 {
				key = fmt.Sprint("hot", int(random.ExpFloat64()*10))
			}
			if i == 100_000 {
				time.Sleep(70 * time.Second) // both slices count
				synctest.Wait()
			}
			truth[key]++
			g.Admit(key, 1)
		}
		hot := g.Top(10)
		if len(hot) != 10 {
			t.Fatalf("%d keys", len(hot))
		}
		seen := map[uint32]bool{}
		for i, h := range hot {
			want, most := truth[fmt.Sprint("hot", i)], g.Stats().Error
			if h.Units < want || h.Units > want+most || seen[h.Hash] {
				t.Errorf("key %d: %+v, want %d units", i, h, want)
			}
			seen[h.Hash] = true
		}
		if n := len(g.Top(3)); n != 3 {
			t.Errorf("%d keys, want 3", n)
		}
		if n := len(g.Top(-1)); n != 0 {
			t.Errorf("%d keys, want none", n)
		}
		for _, h := range g.Top(1000) {
			if h.Units <= g.Stats().Error {
				t.Errorf("%+v is within the error", h)
			}
		}
		time.Sleep(time.Hour)
		g.Admit("key", 5)
		if hot := g.Top(10); len(hot) != 1 || hot[0].Units != 5 {
			t.Errorf("an hour later: %+v", hot)
		}
	})
}
