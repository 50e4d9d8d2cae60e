// Command gin is a small gin service behind a limiter.
//
//	go run ./examples/gin
//	go run ./examples/gin -redis redis://127.0.0.1:6379/0
package main

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/examples/internal/service"
	"github.com/tierlimit/tierlimit/ginlimit"
)

func main() { service.Main("gin", server) }

func server(s *service.Service) service.Server {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.Recovery(), ginlimit.New(s.Limiter, ginlimit.WithProxies(s.Proxies), ginlimit.WithUser(user)))
	r.GET("/items/:id", item)
	r.POST("/login", func(c *gin.Context) { c.Data(http.StatusOK, service.JSON, []byte(service.Login)) })
	r.GET("/stream", stream)
	r.GET("/healthz", func(c *gin.Context) { c.Data(http.StatusOK, service.JSON, s.Health()) })
	r.GET("/metrics", gin.WrapH(s.Metrics))
	return service.HTTP(r)
}

// user takes the caller's word for who they are, so that you can try it with curl. A real
// service verifies an identity first, and gives the limiter what it has verified.
func user(c *gin.Context) string { return c.GetHeader("X-User") }

func item(c *gin.Context) {
	d, _ := core.FromContext(c.Request.Context())
	c.Data(http.StatusOK, service.JSON, service.Item(c.Param("id"), d))
}

func stream(c *gin.Context) {
	c.Header("Content-Type", service.EventStream)
	for _, event := range service.Events {
		if _, err := c.Writer.WriteString(event); err != nil {
			return
		}
		c.Writer.Flush()
		time.Sleep(service.EventGap)
	}
}
