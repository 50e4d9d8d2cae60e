package core

import (
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
func keyPart(s string) string { return string(sealPart([]byte(s), 0)) }

// sealPart makes a part of a key of what lies behind b[n:].
func sealPart(b []byte, n int) []byte {
	odd := 0
	for _, c := range b[n:] {
		if !safe(c) {
			odd++
		}
	}
	switch size := len(b) + 2*odd; {
	case size-n > maxEscaped:
		return (*hasher)(nil).seal(b, n)
	case odd > 0:
		b = escape(b, size)
	}
	return b
}

// sealID makes an id of what lies behind b[n:]. Identities of callers are always hashed, since
// they may be secrets such as API keys; an address is only hashed when a secret was given for it.
func sealID(b []byte, n int, s scope, h *hasher) []byte {
	if s == scopeCaller || (s == scopeAddress && h != nil) {
		return h.seal(b, n)
	}
	return sealPart(b, n)
}

const upperHex = "0123456789ABCDEF"

// escape stretches b to size, from its end so that nothing is overwritten unread. What stands
// before the part that needs it moves onto itself.
func escape(b []byte, size int) []byte {
	from := len(b)
	for len(b) < size {
		b = append(b, 0)
	}
	for to := size; from < to; {
		from--
		if c := b[from]; safe(c) {
			to--
			b[to] = c
		} else {
			to -= 3
			b[to], b[to+1], b[to+2] = '%', upperHex[c>>4], upperHex[c&15]
		}
	}
	return b
}

func safe(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '_' || c == '.' || c == '/'
}
