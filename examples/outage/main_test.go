package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/tierlimit/tierlimit/examples/internal/processtest"
)

func TestAsAProcess(t *testing.T) {
	binary := processtest.Build(t, "outage")
	for name, test := range map[string]func(*testing.T, string){
		"shows both outages":        timelineOfBoth,
		"ends what it started":      ends,
		"says how to get Redis":     withoutRedis,
		"names wrong flags":         wrongFlags,
		"nothing outlives its kill": outlived,
	} {
		t.Run(name, func(t *testing.T) { test(t, binary) })
	}
}

func ends(t *testing.T, binary string) {
	for name, end := range map[string]func(*program) error{
		"interrupted":     func(p *program) error { return p.cmd.Process.Signal(syscall.SIGINT) },
		"terminated":      func(p *program) error { return p.cmd.Process.Signal(syscall.SIGTERM) },
		"nobody reads on": func(p *program) error { return p.stdout.Close() },
		"at once":         func(p *program) error { return p.cmd.Process.Signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, binary, "-fault", "stop", "-for", "2s") // some lines are still to come
			if name == "at once" {
				p.until("Started")
			} else {
				p.until("Redis stopped")
			}
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			if err := p.cmd.Wait(); err == nil || !strings.Contains(p.stderr.String(), "interrupted") {
				t.Errorf("ended with %v, stderr: %s; want an error that says interrupted", err, &p.stderr)
			}
			p.leavesNothing()
			p.leavesNoFile()
		})
	}
}

func withoutRedis(t *testing.T, binary string) {
	cmd := exec.Command(binary)
	cmd.Env = []string{"PATH=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "make deps") {
		t.Errorf("%v, %s; want an error that names make deps", err, out)
	}
}

func wrongFlags(t *testing.T, binary string) {
	for want, args := range map[string][]string{
		"-for is 10ms":          {"-for", "10ms"},
		"-rate is 0":            {"-rate", "0"},
		"-rate is NaN":          {"-rate", "nan"},
		"-limit is 2":           {"-limit", "2"},
		`-fault is "cut"`:       {"-fault", "cut"},
		`unexpected argument "`: {"kill"},
	} {
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s; want an error that says %q", args, err, out, want)
		}
	}
}

// outlived is for Linux: elsewhere nothing tells a child that its parent was killed.
func outlived(t *testing.T, binary string) {
	if dieWithParent() == nil {
		return
	}
	p := start(t, binary, "-fault", "stop", "-for", "1s")
	p.until("Redis stopped")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // says that it was killed
	p.leavesNothing()
}
