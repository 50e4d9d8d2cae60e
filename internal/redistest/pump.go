package redistest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"time"
)

const (
	chunkBytes = 32 << 10

	// queuedChunks bounds the memory of a delayed link. A full queue makes the
	// server wait, as a full TCP window would.
	queuedChunks = 1024
)

// chunk is a reply, or the end of them, and when it may go out.
type chunk struct {
	due  time.Time
	data []byte
	err  error // with it, data is empty
}

// serve dials only behind the gate: in a black hole the client must not learn
// whether the target is up.
func (l *link) serve() {
	l.gate()

	var dialer net.Dialer

	conn, err := dialer.DialContext(l.p.ctx, "tcp", l.p.target)
	if err != nil {
		l.p.finish(l, true)

		return
	}

	server := conn.(*net.TCPConn)
	if !l.attach(server) {
		shutConn(server, true)
		l.p.finish(l, true)

		return
	}

	replies := make(chan chunk, queuedChunks)

	l.p.wg.Go(func() { l.collect(server, replies) })
	l.p.wg.Go(func() { l.deliver(replies) })
	l.requests(server)
	<-l.done
	l.p.finish(l, false)
}

// attach is false when the link was ended during the dial.
func (l *link) attach(server *net.TCPConn) bool {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()

	select {
	case <-l.done:
		return false
	default:
		l.server = server

		return true
	}
}

func (l *link) requests(server *net.TCPConn) {
	buf := make([]byte, chunkBytes)

	for {
		n, err := l.client.Read(buf)

		l.gate()

		if n > 0 {
			if _, err := server.Write(buf[:n]); err != nil {
				return // collect sees how the server ended
			}
		}

		if err != nil {
			l.p.finish(l, !errors.Is(err, io.EOF))

			return
		}
	}
}

// collect never sleeps: the time stamps let the delays of chunks overlap.
func (l *link) collect(server *net.TCPConn, replies chan<- chunk) {
	buf := make([]byte, chunkBytes)

	for {
		n, err := server.Read(buf)
		due := time.Now().Add(l.p.delayNow())

		if n > 0 && !l.enqueue(replies, chunk{due: due, data: bytes.Clone(buf[:n])}) {
			return
		}

		if err != nil {
			l.enqueue(replies, chunk{due: due, err: err})

			return
		}
	}
}

func (l *link) enqueue(replies chan<- chunk, c chunk) bool {
	select {
	case replies <- c:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) deliver(replies <-chan chunk) {
	for {
		select {
		case c := <-replies:
			if !l.pass(c) {
				return
			}
		case <-l.done:
			return
		}
	}
}

// pass is false when c was the last one.
func (l *link) pass(c chunk) bool {
	if wait := time.Until(c.due); wait > 0 {
		select {
		case <-time.After(wait):
		case <-l.done:
			return false
		}
	}

	switch mode := l.gate(); {
	case c.err != nil:
		l.p.finish(l, !errors.Is(c.err, io.EOF))

		return false
	case l.swallow(mode):
		return true
	case mode == HalfReply:
		_, _ = l.client.Write(c.data[:len(c.data)/2]) // reset either way
		l.p.finish(l, true)

		return false
	}

	_, err := l.client.Write(c.data)

	return err == nil // requests sees how the client ended
}

// swallow asks for the mode again under the lock, so that no gap is marked
// after Pass reset the links with one.
func (l *link) swallow(mode Mode) bool {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()

	if mode == SwallowReplies && l.p.mode == SwallowReplies {
		l.gap = true
	}

	return l.gap
}

func (p *Proxy) delayNow() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.delay
}
