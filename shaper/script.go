package shaper

import (
	"context"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing secret depends on it
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/add.lua
	luaAdd string
	//go:embed lua/take.lua
	luaTake string
	//go:embed lua/hold.lua
	luaHold string
	//go:embed lua/done.lua
	luaDone string
	//go:embed lua/bury.lua
	luaBury string
	//go:embed lua/revive.lua
	luaRevive string
	//go:embed lua/sweep.lua
	luaSweep string
	//go:embed lua/stats.lua
	luaStats string

	addScript    = newScript(luaAdd)
	takeScript   = newScript(luaTake)
	holdScript   = newScript(luaHold)
	doneScript   = newScript(luaDone)
	buryScript   = newScript(luaBury)
	reviveScript = newScript(luaRevive)
	sweepScript  = newScript(luaSweep)
	statsScript  = newScript(luaStats)
)

type script struct{ text, sha string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return script{text, hex.EncodeToString(sum[:])}
}

// run sends EVALSHA, and EVAL where the server does not know the script: that error proves that
// nothing ran.
func (q *Queue) run(ctx context.Context, s script, keys []string, args ...any) (any, error) {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, "evalsha", s.sha, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	line = append(line, args...)
	reply, err := q.send(ctx, 3, line...)
	if err != nil && replied(err, "NOSCRIPT") {
		line[0], line[1] = "eval", s.text
		reply, err = q.send(ctx, 3, line...)
	}
	return reply, err
}

// send sends one command; key is where its first key stands, by which a Cluster finds the node.
func (q *Queue) send(ctx context.Context, key int8, line ...any) (any, error) {
	cmd := once{redis.NewCmd(ctx, line...)}
	cmd.SetFirstKeyPos(key)
	err := q.client.Process(ctx, cmd)
	q.relearn(ctx, err)
	return cmd.Val(), err
}

// relearn has a Cluster's client read the slot map after a failure. By itself it would go on asking a
// primary that is gone for up to a minute.
func (q *Queue) relearn(ctx context.Context, err error) {
	if err == nil || replyOf(err) != "" {
		return
	}
	if c, ok := q.client.(interface{ ReloadState(ctx context.Context) }); ok {
		c.ReloadState(ctx) // in the background, and not too often
	}
}

// once is a command that the client must not repeat: when its reply is lost, nobody knows whether
// it ran, and running it again could add a job twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// replied reports whether err is an error reply with this word. Servers before Redis 7 wrap what a
// command in a script says, so it is looked for anywhere.
func replied(err error, word string) bool {
	return strings.Contains(replyOf(err), word)
}
