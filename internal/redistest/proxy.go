package redistest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Proxy is a network between a client and one server that fails on command. It
// works on bytes and knows no Redis, so its unit is the chunk: what one read
// gives, which for a request and its reply is the whole of it. The zero value
// is not usable; all methods are safe for concurrent use and from any
// goroutine.
//
// A change holds for every chunk that arrives after the call returned. One that
// was on its way under load may still get through, as on a real network.
type Proxy struct {
	t      testing.TB
	target string
	door   door

	ctx  context.Context // ends with the test, so that dials to target do
	wg   sync.WaitGroup
	ctrl sync.Mutex // one change at a time, as they close and open listeners

	mu      sync.Mutex // guards what follows; never held during I/O
	mode    Mode
	delay   time.Duration
	changed chan struct{} // closed at the next change of mode
	links   map[*link]struct{}
}

// StartProxy does not need target to be up: it is dialled once per accepted
// connection, which is reset when that fails.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()

	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		t:       t,
		target:  target,
		door:    door{addr: loopback(port)},
		ctx:     ctx,
		changed: make(chan struct{}),
		links:   map[*link]struct{}{},
	}

	t.Cleanup(func() {
		p.ctrl.Lock()
		defer p.ctrl.Unlock()

		cancel()
		p.door.shut()
		p.CloseAll()
		p.wg.Wait()
	})
	p.Heal()

	return p
}

// Addr is what the client under test dials; it stays the same in every mode.
func (p *Proxy) Addr() string { return p.door.addr }

// SetMode leaves the delay and a SYN hole as they are, except that Refuse ends
// a SYN hole. BlackHole with [Proxy.SynHole] is a host that vanished.
func (p *Proxy) SetMode(m Mode) {
	p.t.Helper()
	p.ctrl.Lock()
	defer p.ctrl.Unlock()

	p.setMode(m)
}

// setMode must be called with ctrl held.
func (p *Proxy) setMode(m Mode) {
	p.t.Helper()

	if m == Refuse {
		p.door.shut()
	}

	p.switchTo(m)

	switch {
	case m == Refuse:
		p.CloseAll()
	case p.door.isShut():
		p.report("open", p.door.open(p.accept))
	}
}

// switchTo resets the connections with a gap in the same step, so that none of
// them delivers anything under Pass.
func (p *Proxy) switchTo(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.mode = m

	if m == Pass {
		for l := range p.links {
			if l.gap {
				l.reset()
			}
		}
	}

	close(p.changed)
	p.changed = make(chan struct{})
}

// SetDelay adds d to each reply chunk that arrives from now on; zero or less is
// no delay. It is latency and not a lower rate: chunks overlap and keep their
// order.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.delay = d
}

// CloseAll resets the open connections and leaves the mode as it is.
func (p *Proxy) CloseAll() {
	p.mu.Lock()
	defer p.mu.Unlock()

	for l := range p.links {
		l.reset()
	}
}

// SynHole makes dials time out instead of being refused, as behind a firewall
// that drops. Open connections go on: see [Proxy.SetMode]. It takes about 250 ms
// to prove itself.
func (p *Proxy) SynHole() {
	p.t.Helper()
	p.ctrl.Lock()
	defer p.ctrl.Unlock()

	p.report("SYN hole", p.door.block())
}

// Heal ends every fault: the mode is Pass, the delay 0, dials are accepted.
func (p *Proxy) Heal() {
	p.t.Helper()
	p.ctrl.Lock()
	defer p.ctrl.Unlock()

	p.SetDelay(0)
	p.door.unblock()
	p.setMode(Pass)
}

func (p *Proxy) report(what string, err error) {
	p.t.Helper()

	if err != nil {
		p.t.Errorf("proxy %s to %s: %s: %v", p.Addr(), p.target, what, err)
	}
}
