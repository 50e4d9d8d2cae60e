package processtest

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Run holds an example to what all of them do.
func Run(t *testing.T, example string) {
	t.Helper()
	binary := Build(t, example)
	for name, test := range map[string]func(*testing.T, string){
		"admits 300 a minute and tells a true wait": quota,
		"streams as it goes":                        stream,
		"names wrong flags":                         flags,
		"a killed Redis is no error":                killed,
		"a stopped Redis is no error":               stopped,
	} {
		t.Run(name, func(t *testing.T) { test(t, binary) })
	}
}

func quota(t *testing.T, binary string) {
	server := redistest.Start(t)
	base := "http://" + Start(t, binary, "-redis", server.URL())
	begun, admitted := time.Now(), 0
	var last Answer
	for last = Do(t, "GET", base+"/items/7"); last.Status == http.StatusOK; last = Do(t, "GET", base+"/items/7") {
		admitted++
	}
	refilled := int(time.Since(begun)/(200*time.Millisecond)) + 1
	if admitted < 300 || admitted > 300+refilled {
		t.Errorf("%d admitted, want 300 and at most %d that came back meanwhile", admitted, refilled)
	}
	if last.Status != http.StatusTooManyRequests || last.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("refused with %d, %s", last.Status, last.Header.Get("Content-Type"))
	}
	wait, err := strconv.Atoi(last.Header.Get("Retry-After"))
	if err != nil || wait != 1 {
		t.Fatalf("Retry-After is %q, want 1", last.Header.Get("Retry-After"))
	}
	time.Sleep(time.Duration(wait) * time.Second)
	if again := Do(t, "GET", base+"/items/7"); again.Status != http.StatusOK {
		t.Errorf("refused with %d after waiting as long as told", again.Status)
	}
	for _, exempt := range []string{"/healthz", "/metrics"} {
		if a := Do(t, "GET", base+exempt); a.Status != http.StatusOK || a.Header.Get("RateLimit") != "" {
			t.Errorf("%s: %d, RateLimit %q", exempt, a.Status, a.Header.Get("RateLimit"))
		}
	}
}

func stream(t *testing.T, binary string) {
	resp, err := http.Get("http://" + Start(t, binary) + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines, first := bufio.NewReader(resp.Body), time.Time{}
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "data: 0") {
			first = time.Now()
		}
		if strings.HasPrefix(line, "data: 4") && time.Since(first) < 500*time.Millisecond {
			t.Error("the last event came with the first: the stream was held back")
		}
		if err != nil {
			break
		}
	}
	if first.IsZero() {
		t.Error("no event came")
	}
}

func flags(t *testing.T, binary string) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("levels:\n  - {name: ip, limit: 300}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for want, args := range map[string][]string{
		"-redis":               {"-redis", "http://127.0.0.1"},
		"policy.yaml:2:":       {"-policy", policy},
		"no such file":         {"-policy", policy + "x"},
		"address already in":   {"-addr", busy.Addr().String()},
		"flag provided but no": {"-nonsense"},
	} {
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s; want an error that says %q", args, err, out, want)
		}
	}
}
