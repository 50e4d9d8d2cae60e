//go:build unix

package redistest

import (
	"fmt"
	"os"
	"syscall"
)

func suspend(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}

	return eventually(stopWait, func() error {
		if !suspended(p.Pid) {
			return fmt.Errorf("pid %d still runs after SIGSTOP", p.Pid)
		}

		return nil
	})
}

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// setBacklog relies on listen(2) being allowed again on a listening socket,
// which changes nothing but the length of its queue.
func setBacklog(fd uintptr, n int) error { return syscall.Listen(int(fd), n) }
