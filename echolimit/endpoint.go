package echolimit

import (
	"slices"
	"sync"

	"github.com/labstack/echo/v4"
)

// routes knows which templates are routes of the service. Echo also gives a template to what
// matched none: the catch-all that a group with middleware adds, or a route for other methods.
type routes struct {
	known sync.Map // "GET /x/:id"; no larger than the service's own table
}

// endpoint is the method and template of the request's route, "" if it has none.
func (r *routes) endpoint(c echo.Context) string {
	method, path := c.Request().Method, c.Path()
	if path == "" {
		return ""
	}
	endpoint := method + " " + path
	if _, ok := r.known.Load(endpoint); ok {
		return endpoint
	}
	if !slices.ContainsFunc(c.Echo().Routes(), func(route *echo.Route) bool {
		return route.Method == method && route.Path == path
	}) {
		return ""
	}
	r.known.Store(endpoint, true)
	return endpoint
}
