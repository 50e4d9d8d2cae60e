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

// codeOf names how a limit's state is to be read: what changes that starts clean.
func codeOf(l Limit) string {
	switch {
	case l.Ban() != Ban{}:
		return "b"
	case l.Step() > 0:
		return "s"
	case l.Start() < l.Capacity():
		return "u"
	}
	return algorithmCodes[l.Algorithm]
}

// maxEscaped bounds a key part; a longer one is hashed.
const maxEscaped = 64

// keyPrefix is the part of a key that a policy fixes. nth tells limits of one level with one
// period apart, from 1.
func keyPrefix(limiter, route, level, limit, code string, nth int) string {
	var b strings.Builder
	b.WriteString(keyVersion)
	b.WriteString(code)
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
// the policy's numbers change, and by where its windows begin or how its steps go.
func periodOf(l Limit) string {
	s := l.extra()
	switch {
	case s.step > 0:
		return spanOf(l.Interval()) + "x" + strconv.FormatInt(s.step, 10)
	case s.calendar != NoCalendar:
		return s.calendar.String() + "-" + keyPart(l.Location().String())
	case s.offset > 0:
		return spanOf(l.Period) + "-" + spanOf(s.offset)
	}
	return spanOf(l.Period)
}

func spanOf(d time.Duration) string {
	if d%time.Second != 0 {
		return strconv.FormatInt(int64(d), 10) + "ns"
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// tierOf names a limit of LimitsFor by all its numbers: requests of one caller may meet now one
// tier and now another, and the smaller must not forgive what is owed to the larger.
func tierOf(l Limit) string {
	return periodOf(l) + "-" + strconv.FormatInt(l.Quota, 10) + "-" + strconv.FormatInt(l.Capacity(), 10)
}

// keyPart escapes what the service itself names, or hashes it when it is long. Readable
// keys are worth it here: they are what an operator sees.
func keyPart(s string) string { return string(sealPart([]byte(s))) }

// sealPart turns b into a part of a key.
func sealPart(b []byte) []byte {
	odd := 0
	for _, c := range b {
		if !plain[c] {
			odd++
		}
	}
	switch size := len(b) + 2*odd; {
	case size > maxEscaped:
		return (*hasher)(nil).seal(b)
	case odd > 0:
		b = escape(b, size)
	}
	return b
}

// sealID turns b into the id of a level. Identities of callers are always hashed, since
// they may be secrets such as API keys; an address is only hashed when a secret was given for it.
func sealID(b []byte, s scope, h *hasher) []byte {
	if s == scopeCaller || (s == scopeAddress && h != nil) {
		return h.seal(b)
	}
	return sealPart(b)
}

const upperHex = "0123456789ABCDEF"

// escape stretches b to size, from its end so that nothing is overwritten unread.
func escape(b []byte, size int) []byte {
	from := len(b)
	for len(b) < size {
		b = append(b, 0)
	}
	for to := size; from < to; {
		from--
		if c := b[from]; plain[c] {
			to--
			b[to] = c
		} else {
			to -= 3
			b[to], b[to+1], b[to+2] = '%', upperHex[c>>4], upperHex[c&15]
		}
	}
	return b
}

// plain are the bytes that stand for themselves: asked for each byte of each id, it is a table.
var plain = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") {
		t[c] = true
	}
	return t
}()
