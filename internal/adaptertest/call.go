package adaptertest

import (
	"context"
	"io"
	"net"
	"net/http"

	"github.com/tierlimit/tierlimit/core"
)

// Call is one request as a framework shows it to its middleware and handlers. What it does goes
// through the framework's own functions, not around them.
type Call interface {
	// Header is the value of a request header, in the framework's own string: where that lives
	// in a buffer that is used again, the suite wants to see it so.
	Header(name string) string
	// Context is where core.FromContext looks.
	Context() context.Context
	// Stored is the decision where the framework's users look for it; see DecisionStore.
	Stored() (core.Decision, bool)
	// Reply answers.
	Reply(status int, contentType, body string) error
	// Fail leaves the answer to the framework: by an error to return, if its handlers return
	// errors, else by an answer without a body.
	Fail(status int) error
	// Stream answers 200 chunk by chunk; each is on the wire when send returns.
	Stream(contentType string, f func(send func(chunk string) error)) error
	// Hijack hands the connection to f, which closes it, before anything is written.
	Hijack(f func(net.Conn)) error
	// Writer is the response writer; see HTTPWriter.
	Writer() http.ResponseWriter
}

// HTTPCall is a Call of a framework over net/http. Embed it, and override what the framework
// does its own way.
type HTTPCall struct {
	W http.ResponseWriter
	R *http.Request
}

// Header is the request's.
func (c HTTPCall) Header(name string) string { return c.R.Header.Get(name) }

// Context is the request's.
func (c HTTPCall) Context() context.Context { return c.R.Context() }

// Stored is nowhere but in the context.
func (c HTTPCall) Stored() (core.Decision, bool) { return core.Decision{}, false }

// Writer is W.
func (c HTTPCall) Writer() http.ResponseWriter { return c.W }

// Reply writes to W.
func (c HTTPCall) Reply(status int, contentType, body string) error {
	c.W.Header().Set("Content-Type", contentType)
	c.W.WriteHeader(status)
	_, err := io.WriteString(c.W, body)
	return err
}

// Fail answers with the status alone.
func (c HTTPCall) Fail(status int) error {
	c.W.WriteHeader(status)
	return nil
}

// Stream flushes W, the old way: not every framework's writer has an Unwrap.
func (c HTTPCall) Stream(contentType string, f func(send func(chunk string) error)) error {
	c.W.Header().Set("Content-Type", contentType)
	f(func(chunk string) error {
		_, err := io.WriteString(c.W, chunk)
		c.W.(http.Flusher).Flush()
		return err
	})
	return nil
}

// Hijack takes the connection from W.
func (c HTTPCall) Hijack(f func(net.Conn)) error {
	conn, _, err := c.W.(http.Hijacker).Hijack()
	if err == nil {
		f(conn)
	}
	return err
}
