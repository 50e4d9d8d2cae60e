package core

import "time"

// Health is the state of a store that can lose its shared part, for a readiness endpoint or a
// metric. A degraded store is still ready: it decides, from this replica's share.
type Health struct {
	Degraded       bool // some node is
	Nodes          []NodeHealth
	Share          float64       // this replica's part of each limit while degraded
	Replicas       int           // live replicas as last counted, of which Share is one; 0: not counted, or Share was given
	Assumed        bool          // Share was neither given nor counted: it takes this replica to be the only one
	LocalDecisions uint64        // requests with a level decided locally, since the start
	Settled        uint64        // buckets charged for what was admitted without the shared store, since the start
	Unsettled      uint64        // buckets that could not be: there was no room to note them (once an outage, a few fewer where they are many), or it was refused
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
