// Package shaper is a leaky bucket for work that can wait: a queue in Redis whose jobs are started
// at the pace of a limit, however many workers take them.
//
//	q, err := shaper.New(rdb, "mail", core.PerSecond(50))
//	id, err := q.Add(ctx, payload)                                             // anywhere
//	err = q.Work(ctx, func(ctx context.Context, j shaper.Job) error { ... })   // anywhere else
//
// A job that Add acknowledged is done at least once: it stays in Redis until a handler returned nil
// for it. One whose handler fails or panics is tried again, and so is one whose worker died; after
// WithAttempts tries it goes to the dead jobs, where it stays readable. While its worker lives and
// reaches Redis a job has no other. Handlers must bear a repetition all the same: a worker that dies after
// the work and before it could say so leaves a job that is done again.
//
// All starts over all workers, repetitions included, have slots Period/Quota apart, on Redis' clock. A
// worker that would start later than most of that after its slot takes another slot instead, so that any Period holds
// at most Quota + 1 starts where slots are 10 ms apart or more; where they are closer, what 5 ms hold
// can come on top. A missed slot is lost: what does not keep up never catches up by a burst.
//
// The queue lives as long as its Redis: what a server loses when it crashes or fails over is lost, so
// persist (appendonly) what matters, and do not let it evict (noeviction, or a volatile policy; no key of a
// queue but its pace expires). Redis 6.2 is the oldest that has all commands.
//
// A queue sends EVALSHA, EVAL, XREADGROUP and XGROUP. Its scripts use XACK, XADD, XAUTOCLAIM, XCLAIM,
// XDEL, XGROUP, XINFO, XLEN, XPENDING, XRANGE, XREADGROUP, HINCRBY, HMGET and TIME, and for the pace, which is
// a bucket of core/redisstore, MGET, SET, INCRBY, PEXPIRE and DEL. As an ACL:
//
//	~tierlimit:* +evalsha +eval +xack +xadd +xautoclaim +xclaim +xdel +xgroup|create
//	+xgroup|delconsumer +xinfo|consumers +xinfo|groups +xlen +xpending +xrange +xreadgroup
//	+hincrby +hmget +time +mget +set +incrby +pexpire +del
//
// and for a Cluster's client also
//
//	+cluster|slots +command +asking
package shaper
