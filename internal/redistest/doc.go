// Package redistest gives tests a private, real Redis: one server, a Sentinel
// group or a Cluster, and a TCP proxy that breaks the network between client
// and server.
//
// It exists because a simulated Redis has no failover, no LOADING or READONLY
// state and another Lua interpreter: what passes there proves nothing about an
// outage. Everything listens on 127.0.0.1, lives in directories of the test and
// is gone when the test ends.
//
// All types are safe for concurrent use. Helpers that cannot go on end the test
// with Fatal and therefore belong on the test's own goroutine, except for the
// methods of [Proxy], which report with Errorf so that a fault schedule may run
// beside the test.
package redistest
