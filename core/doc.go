// Package core is the whole of a rate-limiting decision and none of its I/O.
//
// A Policy is a list of Levels: by client address, by user, by endpoint, by anything a
// function of the request can name. Each level has Limits. A Limiter checks a Request
// against all of them through a Store, in one step: it is charged at every level or at none.
//
//	limiter, err := core.New(memstore.New(), core.Policy{
//		core.PerIP(core.PerMinute(300)),
//		core.PerUser(core.PerSecond(10), core.PerDay(5000)),
//	})
//	d := limiter.Check(ctx, core.Request{IP: addr, User: user})
//	if !d.Allowed { ... d.RetryAfter, d.Level, d.Reason ... }
//
// Stores are in core/memstore (in process), core/redisstore (shared) and fallback (shared with
// a local half for outages). Adapters for web frameworks, such as ginlimit, turn a framework's
// request into a Request and a Decision into headers and an answer.
//
// The package imports the standard library only.
package core
