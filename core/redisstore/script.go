package redisstore

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing secret depends on it
	_ "embed"
	"encoding/hex"
)

// The script is one text made of parts: what is read, what the checks look like, what becomes of
// the buckets, and how that is written.
var (
	//go:embed lua/read.lua
	luaRead string
	//go:embed lua/shape.lua
	luaShape string
	//go:embed lua/change.lua
	luaChange string
	//go:embed lua/judge.lua
	luaJudge string
	//go:embed lua/save.lua
	luaSave string

	script    = luaRead + luaShape + luaChange + luaJudge + luaSave
	scriptSHA = sha1Hex(script)
)

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}
