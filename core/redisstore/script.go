package redisstore

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing secret depends on it
	_ "embed"
	"encoding/hex"
)

// script is a text and the name by which a server that has run it knows it.
type script struct{ text, sha string }

var (
	// quick is for what most batches are made of, general for everything. They decide alike.
	quick   = newScript(luaQuick)
	general = newScript(luaHead + luaBucket + luaSteps + luaWindow + luaSliding + luaLog + luaBans + luaJudge + luaSave)

	//go:embed lua/quick.lua
	luaQuick string

	//go:embed lua/head.lua
	luaHead string
	//go:embed lua/bucket.lua
	luaBucket string
	//go:embed lua/steps.lua
	luaSteps string
	//go:embed lua/window.lua
	luaWindow string
	//go:embed lua/sliding.lua
	luaSliding string
	//go:embed lua/log.lua
	luaLog string
	//go:embed lua/bans.lua
	luaBans string
	//go:embed lua/judge.lua
	luaJudge string
	//go:embed lua/save.lua
	luaSave string
)

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return &script{text: text, sha: hex.EncodeToString(sum[:])}
}
