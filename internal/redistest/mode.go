package redistest

import "fmt"

// Mode is what a [Proxy] does to its connections, the open ones included. The
// zero value is [Pass].
type Mode int

const (
	// Pass is the healthy network.
	Pass Mode = iota

	// BlackHole accepts and then delivers nothing in either direction, not even
	// the end of a connection, like a partition under TCP. What was sent
	// meanwhile arrives after it, as retransmissions would.
	BlackHole

	// SwallowReplies lets requests take effect while the client cannot know. A
	// connection that lost a reply is reset when Pass returns: TCP never goes
	// on with a gap, and a client that did would match replies wrongly.
	SwallowReplies

	// HalfReply cuts each connection in the middle of its next reply and resets
	// it.
	HalfReply

	// Refuse resets what is open and refuses dials, as after a crash.
	Refuse
)

func (m Mode) String() string {
	names := [...]string{"Pass", "BlackHole", "SwallowReplies", "HalfReply", "Refuse"}
	if m < 0 || int(m) >= len(names) {
		return fmt.Sprintf("Mode(%d)", int(m))
	}

	return names[m]
}
