package adapter_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/tierlimit/tierlimit/internal/adapter"
)

func TestEndpointsAreRemembered(t *testing.T) {
	var e adapter.Endpoints
	if got := e.Of("GET", "/x"); got != "" {
		t.Errorf("before it was added it is %q", got)
	}
	for range 2 { // more than fit, which are put together each time
		for i := range 5000 {
			path := fmt.Sprintf("/%d/:id", i)
			if got, want := e.Add("GET", path), "GET "+path; got != want {
				t.Fatalf("the endpoint is %q, want %q", got, want)
			}
			if got := e.Of("GET", path); got != "GET "+path && got != "" {
				t.Fatalf("it is remembered as %q", got)
			}
		}
	}
	for _, other := range [][2]string{{"POST", "/1/:id"}, {"GET /1", "/:id"}, {"", "GET /1/:id"}, {"GET", "/5001/:id"}} {
		if got := e.Of(other[0], other[1]); got != "" {
			t.Errorf("%q is %q", other, got)
		}
	}
	if e.Of("GET", "/1/:id") == "" || e.Of("GET", "/4999/:id") != "" {
		t.Error("the first are not remembered, or the last are")
	}
}

// Frameworks reuse the memory of their strings.
func TestEndpointsOutliveTheirRequest(t *testing.T) {
	var e adapter.Endpoints
	buffer := []byte("/000/:id")
	for i := range 300 {
		copy(buffer[1:], fmt.Sprintf("%03d", i))
		path := unsafe.String(&buffer[0], len(buffer))
		if got := e.Of("GET", path); got != "" {
			t.Fatalf("%s is taken for %s", path, got)
		}
		e.Add("GET", path)
	}
	if got := e.Of("GET", "/007/:id"); got != "GET /007/:id" {
		t.Errorf("an early one is %q", got)
	}
}
