package examples_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/tierlimit/tierlimit/examples/internal/processtest"
)

// conversation is what is said to each example, a line an exchange.
func conversation() (said [][]string) {
	for range 7 { // the sixth and seventh are refused
		said = append(said, []string{"POST", "/login"})
	}
	for i := range 62 { // the last two are refused
		said = append(said, []string{"GET", fmt.Sprint("/items/", i), "X-User", "ann"})
	}
	return append(
		said,
		[]string{"GET", "/items/1", "X-User", "bob"},
		[]string{"GET", "/items/1", "X-Forwarded-For", "198.51.100.1"},
		[]string{"HEAD", "/login"},
		[]string{"GET", "/stream"},
		[]string{"GET", "/healthz"},
	)
}

// seconds are what differs between two conversations that are not held at the same instant.
var seconds = regexp.MustCompile(`(;t=|Retry-After: )[0-9]+`)

func TestEveryFrameworkAnswersAlike(t *testing.T) {
	var want []string
	for _, example := range []string{"gin", "echo", "fiber", "nethttp"} {
		base := "http://" + processtest.Start(t, processtest.Build(t, example))
		for i, exchange := range conversation() {
			a := processtest.Do(t, exchange[0], base+exchange[1], exchange[2:]...)
			if exchange[0] == "HEAD" {
				a.Body, a.Status = "", 0 // 404 or 405, as the framework has it
			}
			got := fmt.Sprintf("%d\nRateLimit: %s\nRateLimit-Policy: %s\nRetry-After: %s\nContent-Type: %s\n%s",
				a.Status, a.Header.Get("RateLimit"), a.Header.Get("RateLimit-Policy"), a.Header.Get("Retry-After"), a.Header.Get("Content-Type"), a.Body)
			if exchange[0] == "HEAD" {
				got = a.Header.Get("RateLimit")
			}
			got = seconds.ReplaceAllString(got, "${1}N")
			if example == "gin" {
				want = append(want, got)
			} else if got != want[i] {
				t.Errorf("%s answers %v with\n%s\nwant, as gin does,\n%s", example, exchange, got, want[i])
			}
		}
	}
}
