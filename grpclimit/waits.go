package grpclimit

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// waits is until when servers will refuse calls. There is an entry for each call that was refused
// and may not be repeated yet. The zero value is ready.
type waits struct {
	mu    sync.Mutex
	until map[call]time.Time
}

// add has the calls wait; a longer wait of theirs stands.
func (w *waits) add(c call, wait time.Duration) {
	if wait <= 0 {
		return
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.until, func(_ call, t time.Time) bool { return !t.After(now) })
	if w.until == nil {
		w.until = map[call]time.Time{}
	}
	if t := now.Add(wait); t.After(w.until[c]) {
		w.until[c] = t
	}
}

// left is how long the call has to wait, 0 or less if it need not.
func (w *waits) left(c call) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.until[c]) // of the zero time: long past
}

// told is how long a server asks to wait, 0 if it does not say. RetryInfo is exact, where a
// pushback may be left out or be for retry policies only.
func told(s *status.Status, trailer metadata.MD) time.Duration {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	if values := trailer.Get(pushbackKey); len(values) == 1 {
		if ms, err := strconv.ParseInt(values[0], 10, 32); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return 0
}
