package grpclimit

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tierlimit/tierlimit/core"
)

// What google.rpc.ErrorInfo says of a refusal. It tells one from what gRPC itself answers with
// the same codes, for a message that is too large or a connection that is gone.
const (
	Domain            = "tierlimit"
	ReasonExceeded    = "RATE_LIMIT_EXCEEDED" // Google's own name for it
	ReasonNotChecked  = "RATE_LIMIT_NOT_CHECKED"
	ReasonInvalidCost = "RATE_LIMIT_COST_INVALID"
	ReasonDenyListed  = "DENY_LISTED"
	ReasonBanned      = "ABNORMAL_USAGE_DETECTED"
)

// Status is what a client is told of a refusal; OK for an allowed decision.
//
// A client over its limits gets RESOURCE_EXHAUSTED with RetryInfo, where waiting helps, and with
// QuotaFailure, one violation for each limit that refused. UNAVAILABLE would be wrong: clients
// retry it at once. It is the answer where the store failed, which is not the client's fault, and
// then no wait is made up. A negative cost is INVALID_ARGUMENT, since it will be the same again. The
// deny list is PERMISSION_DENIED. A ban is RESOURCE_EXHAUSTED too, with a reason of its own.
// Where the caller's own context ended, its code says so. Nothing in it identifies a caller.
func Status(d core.Decision) *status.Status {
	switch {
	case d.Allowed:
		return status.New(codes.OK, "")
	case callerLeft(d) && errors.Is(d.Err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "deadline is before the rate limit lets the call through")
	case callerLeft(d):
		return status.New(codes.Canceled, "canceled before the rate limit was checked")
	case d.Reason == core.StoreFailed:
		return detailed(codes.Unavailable, "rate limit cannot be checked", errorInfo(d, ReasonNotChecked))
	case d.Reason == core.Listed:
		return detailed(codes.PermissionDenied, "call is on the deny list", errorInfo(d, ReasonDenyListed))
	case d.Reason == core.Invalid:
		return detailed(codes.InvalidArgument, "cost of the call is not valid", errorInfo(d, ReasonInvalidCost))
	}
	message, reason := "rate limit exceeded", ReasonExceeded
	if d.Reason == core.Banned {
		message, reason = "banned for exceeding the rate limit repeatedly", ReasonBanned
	}
	details := []protoadapt.MessageV1{&errdetails.QuotaFailure{Violations: violations(d)}, errorInfo(d, reason)}
	if d.RetryAfter > 0 {
		details = slices.Insert(details, 0, protoadapt.MessageV1(&errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)}))
	}
	return detailed(codes.ResourceExhausted, message, details...)
}

func detailed(code codes.Code, message string, details ...protoadapt.MessageV1) *status.Status {
	s := status.New(code, message)
	if with, err := s.WithDetails(details...); err == nil { // generated messages always marshal
		return with
	}
	return s
}

func errorInfo(d core.Decision, reason string) *errdetails.ErrorInfo {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: Domain, Metadata: map[string]string{"reason": d.Reason.String()}}
	if d.Level != "" {
		info.Metadata["level"] = d.Level
	}
	return info
}

func violations(d core.Decision) (out []*errdetails.QuotaFailure_Violation) {
	for _, l := range d.Levels() {
		if l.Denied && !l.Shadow && l.Err == nil {
			out = append(out, &errdetails.QuotaFailure_Violation{
				Subject: "level:" + l.Level, Description: l.Limit.String(),
				QuotaMetric: l.Policy, QuotaId: l.Policy, QuotaValue: l.Limit.Quota,
			})
		}
	}
	return out
}

// callerLeft tells a caller whose context ended, while the store was asked or while a leaky bucket
// held it back, from a store that failed: core reports both as StoreFailed.
func callerLeft(d core.Decision) bool {
	if d.Reason != core.StoreFailed {
		return false
	}
	failed := func(l core.LevelResult) bool { return l.Err != nil }
	return core.FaultOf(d.Err) == core.FaultCaller || !slices.ContainsFunc(d.Levels(), failed)
}

// codeOf is the code that a server makes of what a handler returns.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}
