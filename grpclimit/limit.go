package grpclimit

import (
	"context"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

type options struct {
	adapter.Config[context.Context]
	client       bool
	exempt       []string // services
	deny         func(context.Context, core.Decision) error
	refundOn     func(codes.Code) bool
	perMessage   bool
	streamHeader bool
}

// limit is an interceptor's options and the limiter that they led to.
type limit struct {
	options
	limiter *core.Limiter
}

func configure(limiter *core.Limiter, client bool, opts []Option) *limit {
	o := options{Config: adapter.Defaults[context.Context](), client: client, exempt: slices.Clone(infrastructure)}
	if client {
		o.MaxDelay = math.MaxInt64
	}
	for _, opt := range opts {
		if o.Require(opt != nil, "option is nil"); opt != nil {
			opt(&o)
		}
	}
	limiter, err := o.Limiter(limiter)
	if err != nil {
		panic("grpclimit: " + err.Error())
	}
	return &limit{options: o, limiter: limiter}
}

// infrastructure is what balancers, orchestrators and tools call, not clients of the service.
var infrastructure = []string{
	"grpc.health.v1.Health",
	"grpc.reflection.v1.ServerReflection",
	"grpc.reflection.v1alpha.ServerReflection",
}

func (o *options) isExempt(method string) bool {
	service := strings.TrimPrefix(method, "/")
	return slices.Contains(o.exempt, service[:max(strings.LastIndexByte(service, '/'), 0)])
}
