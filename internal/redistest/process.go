package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// process belongs to one run of a binary; a restart makes a new one.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// spawn writes the output to a file instead of a pipe: a stopped or killed
// process then leaves no copying goroutine behind.
func spawn(logFile, binary string, args ...string) (*process, error) {
	out, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	defer out.Close()

	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = dieWithParent()

	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}

	p := &process{cmd: cmd, done: make(chan struct{})}

	go func() {
		defer close(p.done)

		_ = cmd.Wait() // how a killed process ended says nothing
	}()

	return p, nil
}

// alive is false for nil, which stands for "never started".
func (p *process) alive() bool {
	if p == nil {
		return false
	}

	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill returns when the process is reaped, so that its port is free again.
func (p *process) kill() {
	if !p.alive() {
		return
	}

	_ = resume(p.cmd.Process) // the kill below works on a stopped process too
	_ = p.cmd.Process.Kill()  // fails only when it is gone already
	<-p.done
}

func requireBinary(t testing.TB, name string) {
	t.Helper()

	if _, err := exec.LookPath(name); errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%s not found in PATH: run `make test`, which installs it", name)
	}
}
