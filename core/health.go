package core

import "time"

// Health is the state of a store that can lose its shared part, for a readiness endpoint or a
// metric. A degraded store is still ready: it decides, from this replica's share.
type Health struct {
	Degraded       bool // some node is
	Nodes          []NodeHealth
	Share          float64       // this replica's part of each limit while degraded
	LocalDecisions uint64        // requests with a level decided locally, since the start
	Failures       FailureCounts // requests that the shared store did not answer, since the start
}

// NodeHealth is one node of the shared store that has been asked so far.
type NodeHealth struct {
	Partition string // "" where there is one node
	Degraded  bool
	Since     time.Time // of the present state; zero if it never changed
	LastError string    // the last failure; "" if none
}

// FailureCounts counts by whose fault it was; see Fault.
type FailureCounts struct {
	Store, Config, Request, Caller uint64
}
