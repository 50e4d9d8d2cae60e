// Command gin is a small gin service behind a limiter.
//
//	go run ./examples/gin
//	go run ./examples/gin -redis redis://127.0.0.1:6379/0
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/examples/internal/service"
	"github.com/tierlimit/tierlimit/ginlimit"
)

func main() {
	log.SetFlags(0)
	if err := run(service.ParseFlags()); err != nil {
		log.Fatal("gin: ", err)
	}
}

func run(f service.Flags) error {
	s, err := service.Open(f)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", f.Addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: router(s), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Printf("gin: ready on http://%s, store: %s\n", listener.Addr(), s.Health().Store)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func router(s *service.Service) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.Recovery(), ginlimit.New(s.Limiter, ginlimit.WithProxies(s.Proxies), ginlimit.WithUser(user)))
	r.GET("/items/:id", item)
	r.POST("/login", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"login": "ok"}) })
	r.GET("/stream", stream)
	r.GET("/healthz", func(c *gin.Context) { c.JSON(http.StatusOK, s.Health()) })
	r.GET("/metrics", gin.WrapH(s.Metrics))
	return r
}

// user takes the caller's word for who they are, so that you can try it with curl. A real
// service verifies an identity first, and gives the limiter what it has verified.
func user(c *gin.Context) string { return c.GetHeader("X-User") }

func item(c *gin.Context) {
	d, _ := core.FromContext(c.Request.Context())
	c.JSON(http.StatusOK, gin.H{"id": c.Param("id"), "decided": d.Source.String()})
}

// stream sends five events: a limiter stands before a stream, not in it.
func stream(c *gin.Context) {
	for i := range 5 {
		if i > 0 {
			select {
			case <-c.Request.Context().Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
		c.SSEvent("tick", i)
		c.Writer.Flush()
	}
}
