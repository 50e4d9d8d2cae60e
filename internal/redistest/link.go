package redistest

import (
	"net"
	"sync"
)

// link is one client connection and its connection to the target.
type link struct {
	p      *Proxy
	client *net.TCPConn

	once sync.Once
	done chan struct{} // closed when the link ends, whoever ends it

	server *net.TCPConn // nil until dialled; guarded by Proxy.mu
	gap    bool         // a reply was lost; guarded by Proxy.mu
}

// reset must be called with Proxy.mu held. Without the linger of 0 the client
// would see an orderly end, which clients treat differently.
func (l *link) reset() { l.end(true) }

func (l *link) end(rst bool) {
	l.once.Do(func() {
		close(l.done)
		shutConn(l.client, rst)

		if l.server != nil {
			shutConn(l.server, rst)
		}
	})
}

// shutConn ignores errors: the other side may have closed first.
func shutConn(conn *net.TCPConn, rst bool) {
	if rst {
		_ = conn.SetLinger(0)
	}

	_ = conn.Close()
}

func (p *Proxy) accept(ln net.Listener) {
	p.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // shut
			}

			l := &link{p: p, client: conn.(*net.TCPConn), done: make(chan struct{})}
			if p.add(l) {
				p.wg.Go(l.serve)
			}
		}
	})
}

// add is where a connection that was accepted just before Refuse or the end of
// the test is caught.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.mode == Refuse || p.ctx.Err() != nil {
		l.reset()

		return false
	}

	p.links[l] = struct{}{}

	return true
}

// finish ends the link, if nothing else did, and forgets it.
func (p *Proxy) finish(l *link, rst bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	l.end(rst)
	delete(p.links, l)
}

// gate blocks while the mode is BlackHole and the link lives.
func (l *link) gate() Mode {
	for {
		l.p.mu.Lock()
		mode, changed := l.p.mode, l.p.changed
		l.p.mu.Unlock()

		if mode != BlackHole {
			return mode
		}

		select {
		case <-changed:
		case <-l.done:
			return mode
		}
	}
}
