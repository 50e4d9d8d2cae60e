package redistest

import "go.uber.org/goleak"

// ClientLeftovers are for goleak: what a closed go-redis client may still be doing for a second. A
// dial under way is not cut short, and the look at a server that refuses sleeps to its end.
func ClientLeftovers() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).queuedNewConn.func2"),
		goleak.IgnoreTopFunction("net.(*netFD).connect.func2"),
	}
}
