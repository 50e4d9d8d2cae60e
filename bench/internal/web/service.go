// Package web measures a whole HTTP service: gin, a limiter's middleware, a handler that does
// nothing, real connections.
package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
)

// Connections is how many clients keep a connection.
const Connections = 64

// middlewares makes what stands before the handler, and what has to be closed with it.
type middlewares func(engine.Setup) ([]gin.HandlerFunc, io.Closer, error)

// service is a running service and the clients that ask it; it is an engine, so it is driven
// and measured as the others are.
type service struct {
	http    *http.Server
	clients chan *client
	closer  io.Closer
}

func open(use middlewares) func(engine.Setup) (engine.Engine, error) {
	return func(s engine.Setup) (engine.Engine, error) {
		handlers, closer, err := use(s)
		if err != nil {
			return nil, err
		}
		gin.SetMode(gin.ReleaseMode)
		router := gin.New()
		if err := router.SetTrustedProxies([]string{loopback}); err != nil {
			return nil, err
		}
		router.Use(handlers...)
		for _, path := range paths() {
			router.GET(path, func(c *gin.Context) { c.Status(http.StatusNoContent) })
		}
		ln, err := net.Listen("tcp", loopback+":0")
		if err != nil {
			return nil, err
		}
		e := &service{http: &http.Server{Handler: router}, clients: make(chan *client, Connections), closer: closer}
		go func() { _ = e.http.Serve(ln) }() // ends when it is closed
		for range Connections {
			c, err := dial(ln.Addr().String())
			if err != nil {
				return nil, errors.Join(err, e.Close())
			}
			e.clients <- c
		}
		return e, nil
	}
}

func (e *service) Take(_ context.Context, r *engine.Request) (bool, error) {
	c := <-e.clients
	defer func() { e.clients <- c }()
	status, err := c.get(r)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusNoContent:
		return true, nil
	case status == http.StatusTooManyRequests:
		return false, nil
	}
	return false, errors.New(http.StatusText(status))
}

func (e *service) Close() error {
	for len(e.clients) > 0 {
		_ = (<-e.clients).conn.Close() // the server closes its end below
	}
	err := e.http.Close()
	if e.closer != nil {
		err = errors.Join(err, e.closer.Close())
	}
	return err
}
