package shaper_test

import (
	"syscall"
	"unsafe"
)

// monotonic is the machine's monotonic clock, the same for all processes, in nanoseconds.
func monotonic() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}
