package adaptertest

import (
	"net"
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

// Adapter is one framework's middleware under test.
type Adapter struct {
	// Name is the adapter's package, with which its panics begin.
	Name string
	// Build makes a service with the framework, left at its defaults where a Service does not
	// say otherwise, but answering 405 if it can. It panics where the adapter's New does.
	Build func(Service) Server
	// Lacks names what the framework cannot do, each with the reason.
	Lacks map[Feature]string
}

// Server is a service ready to listen; *http.Server is one.
type Server interface {
	Serve(net.Listener) error
	Close() error
}

// Feature is something that not every framework has.
type Feature string

// The features that cases ask for.
const (
	HeadByGet        Feature = "a GET route answers HEAD"
	MethodNotAllowed Feature = "a path without a route for the method is answered 405"
	ErrorHandler     Feature = "errors that handlers return go to a handler of the application's"
	DecisionStore    Feature = "handlers find request values in the framework's own context"
	ClientGone       Feature = "the request's context ends when the client leaves"
	HTTPWriter       Feature = "handlers write to an http.ResponseWriter"
)

// Service describes what to build. From the outside in, a request meets: a middleware that sets
// Outer, the framework's recovery, Mounts, the group's Mounts, the route's Mounts, the handler.
type Service struct {
	Outer     map[string]string // response headers, as a CORS middleware sets them
	Recovered func(any)         // nil, or told what the recovery caught; the answer is 500
	OnError   string            // the JSON that the framework's error handler writes, if it has one
	Mounts    []Mount           // app-wide, the outermost first
	Routes    []Route
	Groups    []Group
}

// Group is routes with a common prefix, such as "/g", which their paths do not repeat.
type Group struct {
	Prefix string
	Mounts []Mount
	Routes []Route
}

// Route is one handler. Path spells its parameters "/x/:id" and "/files/*path"; see Braces.
type Route struct {
	Method, Path string
	Mounts       []Mount
	Handler      Handler
}

// Mount is one middleware.
type Mount struct {
	Limiter *core.Limiter
	Options []Option
}

// Handler is what a route does with a request. An error is the framework's own, from Call.Fail.
type Handler func(Call) error

// Braces spells a Route's path as http.ServeMux does: "/x/{id}" and "/files/{path...}".
func Braces(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if name, ok := strings.CutPrefix(s, ":"); ok {
			segments[i] = "{" + name + "}"
		} else if name, ok := strings.CutPrefix(s, "*"); ok {
			segments[i] = "{" + name + "...}"
		}
	}
	return strings.Join(segments, "/")
}
