package adapter

import (
	"context"
	"net/http"

	"github.com/tierlimit/tierlimit/core"
)

// Serve runs the handlers of an admitted request and gives the charge back where on is true of
// the status they leave: the one that is written, if any, else the one that run returns, else
// 500 for a panic, which passes through.
func Serve(ctx context.Context, d core.Decision, on func(status int) bool, written func() (status int, ok bool), run func() int) {
	status := http.StatusInternalServerError
	defer func() {
		if s, ok := written(); ok {
			status = s
		}
		if on(status) {
			_ = d.Refund(ctx) // what cannot be given back stays spent
		}
	}()
	status = run()
}
