package adapter

import (
	"context"
	"net/http"

	"github.com/tierlimit/tierlimit/core"
)

// Serve runs the handlers of an admitted request and gives the charge back where on is true of
// the status they leave. The status of a panic, which passes through, is 500.
func Serve(ctx context.Context, d core.Decision, on func(status int) bool, run func() (status int)) {
	status := http.StatusInternalServerError
	defer func() {
		if on(status) {
			_ = d.Refund(ctx) // what cannot be given back stays spent
		}
	}()
	status = run()
}
