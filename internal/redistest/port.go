package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// The range stays below 32768, where Linux starts to hand out ports to outgoing
// connections: there, a client that dials a killed server could take the port
// away from the restart, or even connect to itself. The Cluster bus of each
// port lies in a second range that does not overlap the first.
const (
	firstPort = 11000
	portCount = 10000
	busOffset = 10000
)

// nextPort starts somewhere else in each test binary, because several of them
// run at once, and only moves forward: a port that a late client of an earlier
// test still dials is not handed to the next server.
var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(portCount)) }

var errNoPort = errors.New("no free port on 127.0.0.1")

// freePort only looks: someone else may bind the port before the caller does.
func freePort() (int, error) {
	for range portCount {
		port := firstPort + int(nextPort.Add(1)%portCount)
		if bindable(port) && bindable(port+busOffset) {
			return port, nil
		}
	}

	return 0, errNoPort
}

func bindable(port int) bool {
	ln, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}

	return ln.Close() == nil
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
