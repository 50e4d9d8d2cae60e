package redisstore

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing secret depends on it
	_ "embed"
	"encoding/hex"
)

// The script is one text made of parts, in an order in which each uses those before it.
var (
	//go:embed lua/clock.lua
	luaClock string
	//go:embed lua/instant.lua
	luaInstant string
	//go:embed lua/save.lua
	luaSave string
	//go:embed lua/cell.lua
	luaCell string
	//go:embed lua/token_bucket.lua
	luaTokenBucket string
	//go:embed lua/shape.lua
	luaShape string
	//go:embed lua/batch.lua
	luaBatch string

	script    = luaClock + luaInstant + luaCell + luaTokenBucket + luaShape + luaSave + luaBatch
	scriptSHA = sha1Hex(script)
)

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}
