// Command echo is a small echo service behind a limiter.
//
//	go run ./examples/echo
//	go run ./examples/echo -redis redis://127.0.0.1:6379/0
package main

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/echolimit"
	"github.com/tierlimit/tierlimit/examples/internal/service"
)

func main() { service.Main("echo", server) }

func server(s *service.Service) service.Server {
	e := echo.New()
	e.Use(middleware.Recover(), echolimit.New(s.Limiter, echolimit.WithProxies(s.Proxies), echolimit.WithUser(user)))
	e.GET("/items/:id", item)
	e.POST("/login", func(c echo.Context) error { return c.Blob(http.StatusOK, service.JSON, []byte(service.Login)) })
	e.GET("/stream", stream)
	e.GET("/healthz", func(c echo.Context) error { return c.Blob(http.StatusOK, service.JSON, s.Health()) })
	e.GET("/metrics", echo.WrapHandler(s.Metrics))
	return service.HTTP(e)
}

// user takes the caller's word for who they are, so that you can try it with curl. A real
// service verifies an identity first, and gives the limiter what it has verified.
func user(c echo.Context) string { return c.Request().Header.Get("X-User") }

func item(c echo.Context) error {
	d, _ := core.FromContext(c.Request().Context())
	return c.Blob(http.StatusOK, service.JSON, service.Item(c.Param("id"), d))
}

func stream(c echo.Context) error {
	c.Response().Header().Set("Content-Type", service.EventStream)
	for _, event := range service.Events {
		if _, err := c.Response().Write([]byte(event)); err != nil {
			return err
		}
		c.Response().Flush()
		time.Sleep(service.EventGap)
	}
	return nil
}
