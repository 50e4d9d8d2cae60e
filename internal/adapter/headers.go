package adapter

import (
	"net/http"

	"github.com/tierlimit/tierlimit/core"
)

// SetHeaders sets the decision's headers as h.Set would. That makes a name and a slice for each,
// since none of core's names is in the form that net/http keeps them in.
func SetHeaders(h http.Header, d core.Decision) {
	values := make([]string, 0, 4)
	for name, value := range d.Headers() {
		n := len(values)
		values = append(values, value)
		h[canonical(name)] = values[n : n+1 : n+1] // so that who appends to one does not reach the next
	}
}

func canonical(name string) string {
	switch name {
	case "RateLimit-Policy":
		return "Ratelimit-Policy"
	case "RateLimit":
		return "Ratelimit"
	case "RateLimit-Limit":
		return "Ratelimit-Limit"
	case "RateLimit-Remaining":
		return "Ratelimit-Remaining"
	case "RateLimit-Reset":
		return "Ratelimit-Reset"
	case "X-RateLimit-Limit":
		return "X-Ratelimit-Limit"
	case "X-RateLimit-Remaining":
		return "X-Ratelimit-Remaining"
	case "X-RateLimit-Reset":
		return "X-Ratelimit-Reset"
	}
	return http.CanonicalHeaderKey(name)
}
