package service

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// The answers are the same bytes whatever the framework.
const (
	JSON        = "application/json"
	EventStream = "text/event-stream"
	Login       = `{"login":"ok"}`
)

// Item is the answer of /items/{id}: it tells where the decision came from.
func Item(id string, d core.Decision) []byte {
	return encode(struct {
		ID      string `json:"id"`
		Decided string `json:"decided"`
	}{id, d.Source.String()})
}

// Events are what /stream sends, EventGap apart: a limiter stands before a stream, not in it.
var Events = []string{event(0), event(1), event(2), event(3), event(4)}

// EventGap is the time between two events.
const EventGap = 200 * time.Millisecond

func event(n int) string { return fmt.Sprintf("event: tick\ndata: %d\n\n", n) }

// Store names where the service counts.
func (s *Service) Store() string {
	if s.fallback == nil {
		return "in process"
	}
	return "redis"
}

// Health is the answer of /healthz. A degraded service is a healthy one: it decides.
func (s *Service) Health() []byte {
	return encode(struct {
		Status   string `json:"status"`
		Store    string `json:"store"`
		Degraded bool   `json:"degraded"`
	}{"ok", s.Store(), s.fallback != nil && s.fallback.Health().Degraded})
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return nil // strings and a bool always marshal
	}
	return body
}
