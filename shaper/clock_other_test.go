//go:build !linux

package shaper_test

import "time"

// monotonic is the wall clock here: the standard library has no other that processes share.
func monotonic() int64 { return time.Now().UnixNano() }
