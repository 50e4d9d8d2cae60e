package redistest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithParent is the second net: cleanups do not run when the test binary
// panics or hits its -timeout.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// suspended looks at the state because SIGSTOP takes effect a little after the
// call that sends it.
func suspended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no procfs: trust the signal
	}

	// The name in parentheses may itself hold spaces and parentheses.
	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T"))
}
