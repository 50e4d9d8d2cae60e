package fallback

import (
	"fmt"
	"testing"
)

// What a listener that hangs does not hear is bounded; going and coming back stay in turns, and the last state is told.
func TestWhatWaitsToBeToldIsBounded(t *testing.T) {
	var n notices
	gate, last, lines := make(chan struct{}), map[string]int{}, 0
	n.add(notice{tell: func() { <-gate }})
	const nodes, flips = 3, 1001
	for flip := range flips {
		for node := range nodes {
			name := fmt.Sprint(node)
			n.add(notice{partition: name, change: true, tell: func() {
				if before, ok := last[name]; flip%2 == 0 == (ok && before%2 == 0) {
					t.Errorf("node %s: change %d after %d", name, flip, before)
				}
				last[name] = flip
			}})
			n.add(notice{partition: name, tell: func() { lines++ }})
		}
	}
	n.mu.Lock()
	if most := mostNotices + nodes; len(n.waiting) > most {
		t.Errorf("%d wait, want %d at most", len(n.waiting), most)
	}
	n.mu.Unlock()
	close(gate)
	n.wait()
	for name, flip := range last {
		if flip%2 != 0 {
			t.Errorf("node %s: the last that was told is %d, want it as it is in the end", name, flip)
		}
	}
	if len(last) != nodes || lines == 0 {
		t.Errorf("%d nodes and %d lines were told, want %d nodes", len(last), lines, nodes)
	}
}
