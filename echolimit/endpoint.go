package echolimit

import (
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tierlimit/tierlimit/internal/adapter"
)

// routes knows which templates are routes of the service. Echo also gives a template to what
// matched none: the catch-all that a group with middleware adds, or a route for other methods.
type routes struct {
	known adapter.Endpoints
}

// endpoint is the method and template of the request's route, "" if it has none.
func (r *routes) endpoint(c echo.Context) string {
	method, path := c.Request().Method, c.Path()
	if path == "" {
		return ""
	}
	if endpoint := r.known.Of(method, path); endpoint != "" {
		return endpoint
	}
	if !slices.ContainsFunc(c.Echo().Routes(), func(route *echo.Route) bool {
		return route.Method == method && route.Path == path
	}) {
		return ""
	}
	return r.known.Add(method, path)
}
