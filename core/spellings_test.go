package core_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/tierlimit/tierlimit/core"
)

// More templates than are remembered are all the same as in the one spelling.
func TestForeignSpellingsAreOneEndpoint(t *testing.T) {
	s := scripted()
	l := limiter(t, s, core.Policy{core.PerEndpoint(ok1)})
	key := func(endpoint string) string {
		l.Check(ctx, core.Request{Endpoint: endpoint})
		return s.buckets(t)[0].Key
	}
	for range 2 {
		for i := range 1100 {
			if got, want := key(fmt.Sprintf("GET /%d/:id/*rest", i)), key(fmt.Sprintf("GET /%d/{id}/{rest...}", i)); got != want {
				t.Fatalf("the %d. template has the key %s, want %s", i, got, want)
			}
		}
	}
}

// fasthttp's strings lie in buffers that the next request overwrites.
func TestSpellingsOutliveTheirRequest(t *testing.T) {
	s := scripted()
	l := limiter(t, s, core.Policy{core.PerEndpoint(ok1)})
	buffer := []byte("GET /000/:id")
	for i := range 1000 {
		copy(buffer[5:], fmt.Sprintf("%03d", i))
		l.Check(ctx, core.Request{Endpoint: unsafe.String(&buffer[0], len(buffer))})
		if got, want := s.buckets(t)[0].Key, fmt.Sprintf("1t:default::endpoint:1s:GET%%20/%03d/%%7Bid%%7D", i); got != want {
			t.Fatalf("the key is %s, want %s", got, want)
		}
	}
}
