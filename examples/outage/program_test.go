package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// program is the example as a process.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout io.ReadCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
	tmp    string
	open   *os.File // a pipe whose other end whatever was started inherits: it ends with the last of them
}

func start(t *testing.T, binary string, args ...string) *program {
	t.Helper()
	tmp, err := os.MkdirTemp("", "test-") //nolint:usetesting // the longer name of t.TempDir leaves too little for that of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	open, inherited, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = open.Close() })
	p := &program{t: t, cmd: exec.Command(binary, args...), tmp: tmp, open: open}
	p.cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	p.cmd.ExtraFiles, p.cmd.Stderr = []*os.File{inherited}, &p.stderr
	p.cmd.WaitDelay = 5 * time.Second // a replica that is left has stderr open
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(p.stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	_ = inherited.Close()
	return p
}

// until reads lines to the one that has the text.
func (p *program) until(text string) {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	p.t.Fatalf("no line with %q; stderr: %s", text, &p.stderr)
}

// leavesNothing waits until the program and all that it started are gone.
func (p *program) leavesNothing() {
	p.t.Helper()
	if err := p.open.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.open.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		p.t.Errorf("a process is left: %v", err)
	}
}

func (p *program) leavesNoFile() {
	p.t.Helper()
	if left, err := os.ReadDir(p.tmp); err != nil || len(left) > 0 {
		p.t.Errorf("files are left: %v, %v", left, err)
	}
}
