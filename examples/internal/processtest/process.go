// Package processtest runs an example as a person would: as a program, over HTTP, against a Redis
// that is killed and stopped.
package processtest

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Build compiles an example, named by its folder.
func Build(t *testing.T, example string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), example)
	out, err := exec.Command("go", "build", "-o", binary, "github.com/tierlimit/tierlimit/examples/"+example).CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// Start runs the program until the test ends, and returns where it listens.
func Start(t *testing.T, binary string, args ...string) (addr string) {
	t.Helper()
	return StartCommand(t, exec.Command(binary, append([]string{"-addr", "127.0.0.1:0"}, args...)...))
}

// StartCommand is Start for one that has an environment of its own, or whose log is kept.
func StartCommand(t *testing.T, cmd *exec.Cmd) (addr string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program did not end well: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no line that says ready: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	_, rest, _ := strings.Cut(line, "ready on ")
	addr, _, _ = strings.Cut(rest, ",")
	return strings.TrimPrefix(addr, "http://")
}

// Answer is what a client got.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Took   time.Duration
}

// Do sends a request; header is alternating names and values.
func Do(t *testing.T, method, url string, header ...string) Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	begun := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return Answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	return Answer{resp.StatusCode, resp.Header, string(body), time.Since(begun)}
}
