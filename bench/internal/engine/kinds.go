package engine

import "github.com/tierlimit/tierlimit/core/redisstore"

// Names that reports refer to.
const (
	Tierlimit       = "tierlimit, redisstore"
	TierlimitInner  = "tierlimit, memstore"
	TierlimitDirect = "memstore alone"
	RedisRate       = "go-redis/redis_rate"
	Rueidis         = "rueidislimiter"
	PlainScript     = "plain script"
	Floor           = "floor: pipelined INCR"
	Fallback        = "tierlimit, fallback"
	NoMemory        = "tierlimit, redisstore, no deny cache"
	XRate           = "x/time/rate in a sharded map"
)

// Shared are the limiters over Redis.
var Shared = []Kind{
	{Name: Tierlimit, Open: openRedis(), Ours: true},
	{Name: NoMemory, Open: openRedis(redisstore.WithDenyCache(0)), Ours: true, DeniedOnly: true},
	{Name: Fallback, Open: openFallback(false), Ours: true},
	{Name: "tierlimit, fallback, headers", Open: openFallback(true), Ours: true},
	{Name: RedisRate, Open: openRedisRate},
	{Name: "ulule/limiter", Open: openUlule},
	{Name: Rueidis, Open: openRueidis},
	{Name: "throttled", Open: openThrottled},
	{Name: "go-zero TokenLimiter", Open: openGoZero, Coarse: true},
	{Name: "httprate-redis", Open: openHTTPRate},
	{Name: "fiber limiter, storage/redis", Open: openFiber},
	{Name: PlainScript, Open: openPlain, Reference: true},
	{Name: Floor, Open: openFloor, Reference: true, AdmitsAll: true},
}

// Local are the limiters in one process.
var Local = []Kind{
	{Name: TierlimitInner, Open: openMemory, Ours: true},
	{Name: TierlimitDirect, Open: openDirect, Ours: true},
	{Name: XRate, Open: openXRate},
	{Name: "sethvargo memorystore", Open: openSethvargo},
	{Name: "throttled, memory", Open: openThrottledMemory},
	{Name: "ulule/limiter, memory", Open: openUluleMemory},
	{Name: "echo's store", Open: openEcho},
	{Name: "httprate, memory", Open: openHTTPRateMemory},
	{Name: "empty loop", Open: openEmpty, Reference: true, AdmitsAll: true},
}
