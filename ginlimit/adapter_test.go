package ginlimit_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/ginlimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		Name:  "ginlimit",
		Build: build,
		Lacks: map[adaptertest.Feature]string{
			adaptertest.HeadByGet:    "gin answers HEAD only where a HEAD route is registered",
			adaptertest.ErrorHandler: "gin's handlers return no error",
		},
	})
}

func build(s adaptertest.Service) adaptertest.Server {
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.Use(func(c *gin.Context) {
		for name, value := range s.Outer {
			c.Header(name, value)
		}
	}, gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, v any) {
		if s.Recovered != nil {
			s.Recovered(v)
		}
		c.AbortWithStatus(http.StatusInternalServerError)
	}))
	e.Use(middlewares(s.Mounts)...)
	register(e, s.Routes)
	for _, g := range s.Groups {
		register(e.Group(g.Prefix, middlewares(g.Mounts)...), g.Routes)
	}
	return &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
}

func register(r gin.IRoutes, routes []adaptertest.Route) {
	for _, route := range routes {
		handler := func(c *gin.Context) { _ = route.Handler(call(c)) }
		r.Handle(route.Method, route.Path, append(middlewares(route.Mounts), handler)...)
	}
}

func middlewares(mounts []adaptertest.Mount) []gin.HandlerFunc {
	var out []gin.HandlerFunc
	for _, m := range mounts {
		out = append(out, ginlimit.New(m.Limiter, dialect.Options(m)...))
	}
	return out
}

var dialect = adaptertest.Dialect[*gin.Context, ginlimit.Option]{
	View: call, User: ginlimit.WithUser, Key: ginlimit.WithKey, Proxies: ginlimit.WithProxies,
	Cost: ginlimit.WithCost, Skip: ginlimit.WithSkip, MaxDelay: ginlimit.WithMaxDelay,
	Policy: ginlimit.WithPolicy, Deny: deny, RefundOn: ginlimit.WithRefundOn,
}

func deny(f adaptertest.Deny) ginlimit.Option {
	if f == nil {
		return ginlimit.WithDeny(nil)
	}
	return ginlimit.WithDeny(func(c *gin.Context, d core.Decision) { _ = f(call(c), d) })
}

// ginCall does what a gin handler does: by c, not by what c is made of.
type ginCall struct {
	adaptertest.HTTPCall
	c *gin.Context
}

func call(c *gin.Context) adaptertest.Call {
	return ginCall{adaptertest.HTTPCall{W: c.Writer, R: c.Request}, c}
}

func (g ginCall) Header(name string) string { return g.c.GetHeader(name) }

func (g ginCall) Stored() (core.Decision, bool) {
	v, _ := g.c.Get(ginlimit.ContextKey)
	d, ok := v.(core.Decision)
	return d, ok
}

func (g ginCall) Reply(status int, contentType, body string) error {
	g.c.Data(status, contentType, []byte(body))
	return nil
}

func (g ginCall) Fail(status int) error {
	g.c.AbortWithStatus(status)
	return nil
}
