package fiberlimit

import (
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
)

// maxCached bounds the cache of resolved paths, which clients choose.
const maxCached = 4096

// routes resolves a request to the template of the route that will serve it. Under app.Use, fiber
// itself names only the mount point.
type routes struct {
	mu       sync.RWMutex
	version  uint32 // of the app's table when it was read
	table    map[string][]fiber.Route
	resolved map[string]string // "GET /x/7" to "GET /x/:id", or to "" for none
}

// endpoint is the first route, in fiber's order, whose method and pattern match: its method and
// template, "" if there is none. A HEAD that a GET route answers counts as that route.
func (r *routes) endpoint(c *fiber.Ctx) string {
	var room [128]byte
	request := append(append(append(room[:0], c.Method()...), ' '), c.Path()...)
	app := c.App()
	version := app.HandlersCount()
	r.mu.RLock()
	endpoint, ok := r.resolved[string(request)] // looked up without a copy
	ok = ok && r.version == version
	r.mu.RUnlock()
	if ok {
		return endpoint
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.table == nil || r.version != version {
		r.read(app, version)
	}
	endpoint = r.resolve(app, c.Method(), c.Path())
	if len(r.resolved) >= maxCached {
		clear(r.resolved)
	}
	r.resolved[string(request)] = endpoint // a copy: fiber's own strings would change
	return endpoint
}

func (r *routes) read(app *fiber.App, version uint32) {
	r.version, r.table, r.resolved = version, map[string][]fiber.Route{}, map[string]string{}
	for _, route := range app.GetRoutes(true) {
		r.table[route.Method] = append(r.table[route.Method], route)
	}
}

func (r *routes) resolve(app *fiber.App, method, path string) string {
	if !app.Config().StrictRouting && len(path) > 1 {
		path = strings.TrimSuffix(path, "/") // as fiber does before it matches
	}
	for _, route := range r.table[method] {
		if !mayMatch(app, route.Path, path) || !fiber.RoutePatternMatch(path, route.Path, app.Config()) {
			continue
		}
		if method == fiber.MethodHead && r.has(fiber.MethodGet, route.Path) {
			method = fiber.MethodGet
		}
		return method + " " + route.Path
	}
	return ""
}

func (r *routes) has(method, pattern string) bool {
	for _, route := range r.table[method] {
		if route.Path == pattern {
			return true
		}
	}
	return false
}

// mayMatch compares what stands before the first parameter, to spare most routes the parsing of
// their pattern.
func mayMatch(app *fiber.App, pattern, path string) bool {
	if i := strings.IndexAny(pattern, ":*+?\\"); i >= 0 {
		pattern = pattern[:i]
	}
	pattern = strings.TrimRight(pattern, "/")
	if len(path) < len(pattern) {
		return false
	}
	if app.Config().CaseSensitive {
		return path[:len(pattern)] == pattern
	}
	return strings.EqualFold(path[:len(pattern)], pattern)
}
