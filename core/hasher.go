package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// hasher is 128 bits of HMAC-SHA-256 (RFC 2104) under a secret, in hex; a nil one is 128 bits of
// SHA-256.
type hasher struct{ idle sync.Pool }

// mac is kept for the next id: keying one hashes the secret twice.
type mac struct {
	hash.Hash
	in  [64]byte // what an interface is given is kept on the heap, and an id is not
	sum [sha256.Size]byte
}

func newHasher(secret []byte) *hasher {
	if secret == nil {
		return nil
	}
	h := &hasher{}
	h.idle.New = func() any { return &mac{Hash: hmac.New(sha256.New, secret)} }
	return h
}

// seal puts the hash of b in its place.
func (h *hasher) seal(b []byte) []byte {
	var sum [sha256.Size]byte
	if h == nil {
		sum = sha256.Sum256(b)
	} else {
		m := h.idle.Get().(*mac)
		m.Reset()
		for rest := b; len(rest) > 0; {
			k := copy(m.in[:], rest)
			m.Write(m.in[:k])
			rest = rest[k:]
		}
		m.Sum(m.sum[:0])
		sum = m.sum
		h.idle.Put(m)
	}
	return hex.AppendEncode(append(b[:0], '#'), sum[:16])
}
