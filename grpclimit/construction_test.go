package grpclimit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

func TestMistakesPanicByName(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(1))})
	server := []func(*core.Limiter, ...grpclimit.Option){
		func(l *core.Limiter, o ...grpclimit.Option) { grpclimit.UnaryServerInterceptor(l, o...) },
		func(l *core.Limiter, o ...grpclimit.Option) { grpclimit.StreamServerInterceptor(l, o...) },
	}
	client := []func(*core.Limiter, ...grpclimit.Option){
		func(l *core.Limiter, o ...grpclimit.Option) { grpclimit.UnaryClientInterceptor(l, o...) },
		func(l *core.Limiter, o ...grpclimit.Option) { grpclimit.StreamClientInterceptor(l, o...) },
	}
	message := func(run func(*core.Limiter, ...grpclimit.Option), l *core.Limiter, opts ...grpclimit.Option) (text string) {
		defer func() {
			if v := recover(); v != nil {
				text = fmt.Sprint(v)
			}
		}()
		run(l, opts...)
		return ""
	}
	for _, run := range append(server, client...) {
		equal(t, "panic", message(run, l), "")
		for want, opt := range map[string]grpclimit.Option{
			"option is nil":                                     nil,
			"WithUser: function is nil":                         grpclimit.WithUser(nil),
			`WithKey: level "x" is not in the policy`:           grpclimit.WithKey("x", nil),
			`WithKey: function for level "ip" is nil`:           grpclimit.WithKey("ip", nil),
			"WithCost: function is nil":                         grpclimit.WithCost(nil),
			"WithSkip: function is nil":                         grpclimit.WithSkip(nil),
			"WithMaxDelay: -1ns is below 0":                     grpclimit.WithMaxDelay(-1),
			"WithPolicy: policy is nil":                         grpclimit.WithPolicy(nil),
			`WithPolicy: core: level "ip": limits[0]: quota`:    grpclimit.WithPolicy(core.Policy{core.PerIP(core.PerHour(0))}),
			`WithExempt: service is "/grpc.health.v1.Health/"`:  grpclimit.WithExempt("/grpc.health.v1.Health/"),
			`WithExempt: service is "", want a full name witho`: grpclimit.WithExempt(""),
		} {
			if got := message(run, l, opt); !strings.HasPrefix(got, "grpclimit: ") || !strings.Contains(got, want) {
				t.Errorf("panic %q, want one that says %q", got, want)
			}
		}
		if got := message(run, nil, grpclimit.WithUser(nil)); !strings.Contains(got, "grpclimit: limiter is nil") {
			t.Errorf("panic %q", got)
		}
		got := message(run, l, grpclimit.WithUser(nil), grpclimit.WithMaxDelay(-1))
		if !strings.Contains(got, "WithUser") || !strings.Contains(got, "WithMaxDelay") {
			t.Errorf("panic %q, want both options in it", got)
		}
	}
	forServers := map[string]grpclimit.Option{
		"WithProxies":      grpclimit.WithProxies(core.Proxies{}),
		"WithDeny":         grpclimit.WithDeny(nil),
		"WithRefundOn":     grpclimit.WithRefundOn(nil),
		"WithPerMessage":   grpclimit.WithPerMessage(),
		"WithStreamHeader": grpclimit.WithStreamHeader(),
	}
	for name, opt := range forServers {
		for _, run := range client {
			if got := message(run, l, opt); !strings.Contains(got, name+": for servers only") {
				t.Errorf("panic %q, want %s in it", got, name)
			}
		}
		for _, run := range server {
			want := ""
			if name == "WithDeny" || name == "WithRefundOn" {
				want = "grpclimit: " + name + ": function is nil"
			}
			equal(t, name+": panic", message(run, l, opt), want)
		}
	}
}
