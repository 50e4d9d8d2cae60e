package examples_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/examples/internal/processtest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// All examples read the URL of Redis in the same place, so one stands for them.
const example = "nethttp"

const (
	shared = `200 {"id":"7","decided":"shared"}`
	local  = `200 {"id":"7","decided":"local"}`
)

// program is one whose log is kept.
type program struct{ base, log string }

func start(t *testing.T, binary, url, trusted string, args ...string) program {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(binary, append([]string{"-addr", "127.0.0.1:0", "-redis", url}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "SSL_CERT_FILE="+trusted), log
	return program{"http://" + processtest.StartCommand(t, cmd), log.Name()}
}

func (p program) get(t *testing.T, path string, header ...string) string {
	t.Helper()
	a := processtest.Do(t, "GET", p.base+path, header...)
	return fmt.Sprint(a.Status, " ", a.Body)
}

// logged returns the lines about the shared store that say something, and makes sure that nothing shows
// the password.
func (p program) logged(t *testing.T, something string) (lines []string) {
	t.Helper()
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"log": string(log), "health": p.get(t, "/healthz"), "metrics": p.get(t, "/metrics")} {
		for _, secret := range []string{redistest.Password, "pw%3A", "rediss://"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s shows %q: %s", what, secret, text)
			}
		}
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "tierlimit: shared store") && strings.Contains(line, something) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestTLS(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE names the trusted certificates on Linux only")
	}
	binary := processtest.Build(t, example)
	secured := redistest.NewTLS(t)
	server := secured.Start()

	t.Run("limits through Redis", func(t *testing.T) {
		policy := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(policy, []byte("name: shop\nlevels:\n  - {name: user, limit: 3/h}\nroutes:\n  \"GET /healthz\": exempt\n  \"GET /metrics\": exempt\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		one := start(t, binary, server.URL(), secured.CAFile(), "-policy", policy)
		other := start(t, binary, server.URL(), secured.CAFile(), "-policy", policy)
		for i, p := range []program{one, other} { // on a busy machine the first may take longer than a budget
			for n := 0; p.get(t, "/items/7", "X-User", fmt.Sprint("first", i)) != shared; n++ {
				if n == 10 {
					t.Fatal("no decision is shared")
				}
			}
		}
		for _, p := range []program{one, other, one} {
			if got := p.get(t, "/items/7", "X-User", "ann"); got != shared {
				t.Errorf("answered %s", got)
			}
		}
		if got := other.get(t, "/items/7", "X-User", "ann"); !strings.HasPrefix(got, fmt.Sprint(http.StatusTooManyRequests)) {
			t.Errorf("the fourth of 3 is answered %s", got)
		}
		if got := one.get(t, "/healthz"); !strings.Contains(got, `"store":"redis","degraded":false`) {
			t.Errorf("health is %s", got)
		}
		if keys := fmt.Sprint(server.Do(t, "KEYS", "tierlimit:*")); !strings.Contains(keys, ":shop:") {
			t.Errorf("keys in Redis are %s", keys)
		}
		if lines := append(one.logged(t, ""), other.logged(t, "")...); len(lines) > 0 {
			t.Errorf("logged %q", lines)
		}
	})

	wrong := strings.Replace(server.URL(), "@", "x@", 1)
	stranger := redistest.NewTLS(t).CAFile()
	for why, p := range map[string]func(t *testing.T) program{
		"WRONGPASS": func(t *testing.T) program { return start(t, binary, wrong, secured.CAFile()) },
		"x509":      func(t *testing.T) program { return start(t, binary, server.URL(), stranger) },
	} {
		t.Run("serves without Redis for "+why, func(t *testing.T) {
			t.Parallel()
			p := p(t)
			for begun := time.Now(); time.Since(begun) < time.Second; time.Sleep(20 * time.Millisecond) { // three probes
				if got := p.get(t, "/items/7"); got != local {
					t.Errorf("answered %s", got)
				}
			}
			if got := p.get(t, "/healthz"); !strings.Contains(got, `"store":"redis","degraded":true`) {
				t.Errorf("health is %s", got)
			}
			if lines := p.logged(t, why); len(lines) != 1 {
				t.Errorf("logged %q, want one line that says %s", lines, why)
			}
		})
	}
}

func TestNoWrongURLShowsItsPassword(t *testing.T) {
	binary := processtest.Build(t, example)
	for _, url := range []string{
		"http://me:hunter2@127.0.0.1:6379/0",
		"redis://me:hunter2@127.0.0.1:port/0",
		"redis://me:hunter2@127.0.0.1:6379/zero",
		"redis://me:hunter2@127.0.0.1:6379/0?nonsense=1",
		"redis://me:hunter2%zz@127.0.0.1:6379/0",
		"redis://me:hunter2#@127.0.0.1:6379/0",
		"redis://me:1/hunter2@127.0.0.1:6379/0",
		"rediss://me:1?hunter2@127.0.0.1:6379/0",
		"redis://me:hunter2",
		"me:hunter2@127.0.0.1:6379",
		"unix://me:hunter2@?db=0",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		out, err := exec.CommandContext(ctx, binary, "-addr", "127.0.0.1:0", "-redis", url).CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), "-redis") || strings.Contains(string(out), "hunter") {
			t.Errorf("%s: %v, %s", url, err, out)
		}
	}
}
