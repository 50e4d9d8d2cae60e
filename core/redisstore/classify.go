package redisstore

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// classify says whose fault the error of a call is. The callers' contexts are not known here: a
// call serves many, and none of them can cancel it.
func classify(err error) error {
	if _, known := errors.AsType[*core.StoreError](err); known {
		return err
	}
	return &core.StoreError{Fault: fault(err), Err: err}
}

func fault(err error) core.Fault {
	if errors.Is(err, redis.Nil) {
		return core.FaultRequest // the script never answers nil: an odd reply
	}
	text, answered := errorReply(err)
	if !answered {
		return core.FaultStore
	}
	switch {
	case containsAny(text, configFaults):
		return core.FaultConfig
	case containsAny(text, nodeFaults):
		return core.FaultStore
	case containsAny(text, requestFaults):
		return core.FaultRequest
	}
	return core.FaultStore // what is not known is no client's doing
}

// Servers before Redis 7 wrap what a command in a script says in "ERR Error running script", so
// the telling word is looked for anywhere.
var (
	configFaults = []string{
		"NOPERM", "NOAUTH", "WRONGPASS", "unauthenticated multibulk", "unknown command", "Unknown Redis command",
		"unknown subcommand", "Unknown subcommand", "unsupported command", "for 'auth' command", // servers before 6 know no users
		"DB index is out of range", "invalid DB index", "SELECT is not allowed in cluster mode", "cluster support disabled",
		"The user executing the script can't", "without any password configured", "no password is set",
		"invalid password", "not allowed from script", "not allowed from Lua", "ACL failure",
		"non deterministic commands", // Redis before 5, which writes no script that has asked for the time
	}
	nodeFaults = []string{
		"LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "OOM ", "MISCONF",
		"BUSY", "UNKILLABLE", "max number of clients", "MOVED ", "ASK ",
	}
	requestFaults = []string{
		"WRONGTYPE", "CROSSSLOT", "user_script", "Error running script", "Error compiling script",
		"is not an integer", "invalid expire time",
	}
)

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
