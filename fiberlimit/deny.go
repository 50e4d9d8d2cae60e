package fiberlimit

import (
	"github.com/gofiber/fiber/v2"

	"github.com/tierlimit/tierlimit/core"
)

// WithDenyAsError leaves the answer to fiber's ErrorHandler: the refusal is returned as an error in
// which errors.As finds a *fiber.Error and a *core.DeniedError. The headers are kept.
func WithDenyAsError() Option {
	return WithDeny(func(_ *fiber.Ctx, d core.Decision) error {
		denied := &core.DeniedError{Decision: d}
		return refusal{fiber.NewError(d.Status(), denied.Error()), denied}
	})
}

// refusal is two errors in one: the framework's, which has the status, and ours.
type refusal struct {
	shown  *fiber.Error
	denied *core.DeniedError
}

func (r refusal) Error() string { return r.shown.Error() }

func (r refusal) Unwrap() []error { return []error{r.shown, r.denied} }
