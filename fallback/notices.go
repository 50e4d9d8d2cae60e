package fallback

import (
	"slices"
	"sync"
	"time"
)

const (
	// mostNotices is how many may wait to be told before some are left out.
	mostNotices = 64
	// closeWithin is how long Close waits until they have been told. It cannot wait for good: a listener may be
	// what calls it.
	closeWithin = time.Second
)

// notices are lines of the log, and changes of state with what they call, that wait to be told: one at a time and
// in order, by a goroutine that lives as long as there are any. Nobody else waits for a listener or a log.
type notices struct {
	mu      sync.Mutex
	waiting []notice
	told    chan struct{} // closed when there are no more; nil: there are none
}

// notice is one of them.
type notice struct {
	partition string // of the node that it is about
	change    bool   // of that node's state: away and back by turns
	tell      func()
}

// add has something told. Where many wait, a line is left out, and a change is left out with the one before it
// of the same node, which it undoes.
func (n *notices) add(it notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) >= mostNotices {
		if !it.change {
			return
		}
		if before := n.before(it); before >= 0 {
			rest := slices.DeleteFunc(slices.Clone(n.waiting[before:]), func(w notice) bool { return w.partition == it.partition })
			n.waiting = append(n.waiting[:before], rest...)
			return
		}
	}
	n.waiting = append(n.waiting, it)
	if n.told == nil {
		n.told = make(chan struct{})
		go n.tell()
	}
}

// before is where the last change of the node waits, or -1.
func (n *notices) before(it notice) int {
	for i, w := range slices.Backward(n.waiting) {
		if w.change && w.partition == it.partition {
			return i
		}
	}
	return -1
}

func (n *notices) tell() {
	for {
		n.mu.Lock()
		if len(n.waiting) == 0 {
			close(n.told)
			n.told = nil
			n.mu.Unlock()
			return
		}
		next := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.mu.Unlock()
		next.tell()
	}
}

// wait waits until all has been told, but not for ever.
func (n *notices) wait() {
	n.mu.Lock()
	told := n.told
	n.mu.Unlock()
	if told == nil {
		return
	}
	select {
	case <-told:
	case <-time.After(closeWithin):
	}
}
