package redisstore

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing secret depends on it
	_ "embed"
	"encoding/hex"
)

// The script is one text made of parts, so that each algorithm is a file of its own.
var (
	//go:embed lua/instant.lua
	luaInstant string
	//go:embed lua/token_bucket.lua
	luaTokenBucket string
	//go:embed lua/batch.lua
	luaBatch string

	script    = luaInstant + luaTokenBucket + luaBatch
	scriptSHA = sha1Hex(script)
)

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}
