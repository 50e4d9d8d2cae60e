package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// A bucket's key is
//
//	{version+algorithm}:{limiter}:{route}:{level}:{limit}:{id}
//
// It is injective: every part but the last is escaped so that it holds no colon, and the
// last is either escaped or a hash, which begins with a byte that escaping never yields.
// Nothing a client sends reaches a key unescaped, so no id makes a Redis Cluster hash tag.
const keyVersion = "1"

var algorithmCodes = [...]string{"t", "l", "f", "w", "g"}

// maxEscaped bounds a key part; a longer one is hashed.
const maxEscaped = 64

// keyPrefix is the part of a key that a policy fixes. nth tells limits of one level with one
// period apart, from 1.
func keyPrefix(limiter, route, level, limit string, a Algorithm, nth int) string {
	var b strings.Builder
	b.WriteString(keyVersion)
	b.WriteString(algorithmCodes[a])
	for _, part := range [...]string{limiter, keyPart(route), level, limit} {
		b.WriteByte(':')
		b.WriteString(part)
	}
	if nth > 1 {
		b.WriteByte('.')
		b.WriteString(strconv.Itoa(nth))
	}
	b.WriteByte(':')
	return b.String()
}

// periodOf names a limit of a policy by its period alone, so that a bucket keeps its debt when
// the policy's numbers change.
func periodOf(l Limit) string {
	if p := l.Period; p%time.Second != 0 {
		return strconv.FormatInt(int64(p), 10) + "ns"
	}
	return strconv.FormatInt(int64(l.Period/time.Second), 10) + "s"
}

// tierOf names a limit of LimitsFor by all its numbers: requests of one caller may meet now one
// tier and now another, and the smaller must not forgive what is owed to the larger.
func tierOf(l Limit) string {
	return periodOf(l) + "-" + strconv.FormatInt(l.Quota, 10) + "-" + strconv.FormatInt(l.Capacity(), 10)
}

// keyPart escapes what the service itself names, or hashes it when it is long. Readable
// keys are worth it here: they are what an operator sees.
func keyPart(s string) string {
	if e := escape(s); len(e) <= maxEscaped {
		return e
	}
	return hashPart(nil, s)
}

// idPart is the id of a level. Identities of callers are always hashed, since they may be
// secrets such as API keys; an address is only hashed when a secret was given for it.
func idPart(secret []byte, s scope, id string) string {
	if s == scopeCaller || (s == scopeAddress && secret != nil) {
		return hashPart(secret, id)
	}
	return keyPart(id)
}

// hashPart is 128 bits of SHA-256 in hex, or of HMAC-SHA-256 (RFC 2104) under a secret.
func hashPart(secret []byte, s string) string {
	var sum [sha256.Size]byte
	if secret == nil {
		sum = sha256.Sum256([]byte(s))
	} else {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(s))
		mac.Sum(sum[:0])
	}
	var out [1 + 32]byte
	out[0] = '#'
	hex.Encode(out[1:], sum[:16])
	return string(out[:])
}

const upperHex = "0123456789ABCDEF"

func escape(s string) string {
	n := 0
	for i := range len(s) {
		if !safe(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; safe(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

func safe(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-_./", c) >= 0
}
