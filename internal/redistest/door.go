package redistest

import (
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// knockWait is far above what a loopback handshake takes (50 µs), and below
	// the first retransmission of a SYN (1 s).
	knockWait = 250 * time.Millisecond

	// maxKnocks leaves room: Linux queues one connection with a backlog of 0.
	maxKnocks = 8
)

var errStillAccepts = errors.New("dials still succeed")

// door is the listening side of a proxy. It has no lock of its own.
type door struct {
	addr    string
	ln      net.Listener // nil while shut
	blocked bool
	fillers []net.Conn // fill the queue while blocked
}

func (d *door) isShut() bool { return d.ln == nil }

// shut also resets what is queued and was never accepted.
func (d *door) shut() {
	if d.ln != nil {
		_ = d.ln.Close() // a listener that fails to close is gone as well
		d.ln = nil
	}

	for _, conn := range d.fillers {
		_ = conn.Close() // reset by the line above
	}

	d.blocked, d.fillers = false, nil
}

func (d *door) unblock() {
	if d.blocked {
		d.shut()
	}
}

func (d *door) open(accept func(net.Listener)) error {
	err := d.listen()
	if err == nil {
		accept(d.ln)
	}

	return err
}

// listen waits, because an outgoing connection of someone else may have the
// port for a moment.
func (d *door) listen() error {
	d.shut()

	return eventually(portWait, func() error {
		ln, err := net.Listen("tcp", d.addr)
		if err == nil {
			d.ln = ln
		}

		return err
	})
}

// block works because Linux drops a SYN, without an answer, when the queue of
// the listener is full; nobody accepts, so it stays full.
func (d *door) block() error {
	if err := d.listen(); err != nil {
		return err
	}

	d.blocked = true

	raw, err := d.ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}

	failed := raw.Control(func(fd uintptr) { err = setBacklog(fd, 0) })
	if err := errors.Join(failed, err); err != nil {
		return fmt.Errorf("backlog: %w", err)
	}

	for range maxKnocks {
		conn, err := net.DialTimeout("tcp", d.addr, knockWait)
		if err == nil {
			d.fillers = append(d.fillers, conn)

			continue
		}

		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && d.fillers != nil {
			return nil
		}

		return err
	}

	return errStillAccepts
}
