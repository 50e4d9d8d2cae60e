package policyfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/policyfile"
)

// bad is a text and what is said of it, each line without its "p.yaml:".
type bad struct{ text, want string }

func allBad() []bad {
	return slices.Concat(badFiles, badSyntax, badLevels, badLimits, badDetails, badRoutes, badLists)
}

func TestMistakes(t *testing.T) {
	for _, test := range allBad() {
		_, err := policyfile.Parse("p.yaml", []byte(test.text))
		want := "p.yaml:" + strings.ReplaceAll(test.want, "\n", "\np.yaml:")
		if err == nil || err.Error() != want {
			t.Errorf("%q\n got %v\nwant %s", test.text, err, want)
		}
	}
}

// A mistake is reported where it stands, though the levels are read before the routes.
func TestMistakesInOrder(t *testing.T) {
	_, err := policyfile.Parse("p.yaml", []byte(`routes:
  GET /a: [{name: tenant, limit: 3}]
ipv6_prefix: 1
levels:
  - {name: ip, limit: 0/s}
  - {name: user, limt: 1/s}
name: X
`))
	if err == nil {
		t.Fatal("no error")
	}
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		got = append(got, strings.Join(strings.SplitN(line, ":", 5)[1:4], ":"))
	}
	want := []string{
		`2:19: routes["GET /a"][0].name`, `2:34: routes["GET /a"][0].limit`, "3:14: ipv6_prefix",
		"5:23: levels[0].limit", "6:5: levels[1].limit", "6:18: levels[1].limt", "7:7: name",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A level whose name is not known could be the one that a route means.
func TestNoMistakeFollowsFromAnother(t *testing.T) {
	for _, levels := range []string{
		"", "levels: nope\n", "levels: []\n",
		"levels: [{key: header:X-Tenant, limit: 1/s}]\n",
		"levels: [{name: Tenant, key: header:X-Tenant, limit: 1/s}]\n",
		"levels: [{name: tenant, key: X-Tenant, limit: 1/s}]\n",
		"levels: [{name: tenant, limit: 1/s}]\n",
	} {
		_, err := policyfile.Parse("p.yaml", []byte(levels+"routes:\n  GET /a: [{name: tenant, limit: 3/s}]\n"))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want one mistake", levels, err)
		}
	}
}

func TestManyMistakes(t *testing.T) {
	text := base + strings.Repeat("a: 1\n", 100)
	_, err := policyfile.Parse("p.yaml", []byte(text))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 {
		t.Fatalf("got %d lines, want 21", len(lines))
	}
	if got, want := lines[20], "p.yaml:22:1: and 80 more mistakes from here on"; got != want {
		t.Errorf("last line is %q, want %q", got, want)
	}
}

func TestErrorFields(t *testing.T) {
	_, err := policyfile.Parse("p.yaml", []byte(level("{name: ip, limit: 0/s}")))
	var e *policyfile.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *policyfile.Error", err)
	}
	if want := (policyfile.Error{"p.yaml", 2, 23, "levels[0].limit", "quota is 0, want 1 to 1000000000000"}); *e != want {
		t.Errorf("got %+v, want %+v", *e, want)
	}
}

// Names and values of any length are cut, so that a message stays one.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, text := range []string{
		base + long + ": 1\n",
		base + "routes: {? GET " + long + ": exempt}\n",
		"name: " + long + "\n" + base, "name: *" + long + "\n" + base,
		"name: &" + long + " a\n" + base, "name: !" + long + " a\n" + base,
		level("{name: ip, limit: " + long + "}"), level("{name: ip, limit: 1" + long + "/s}"),
		level("{name: ip, limit: 1/" + long + "}"), level("{name: ip, limit: " + strings.Repeat("9", 100_000) + "/s}"),
		level("{name: ip, limit: 1/s, burst: " + strings.Repeat("9", 100_000) + "}"),
	} {
		_, err := policyfile.Parse("p.yaml", []byte(text))
		if err == nil || len(err.Error()) > 700 {
			t.Errorf("%.60q...: got a message of %d bytes, want at most 700", text, len(fmt.Sprint(err)))
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		path := filepath.Join(dir, "p.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	padded := base + strings.Repeat("#", policyfile.MaxSize-len(base))
	f, err := policyfile.Load(write(padded))
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(f.Policy); got != "ip [1 per 1s]" {
		t.Errorf("policy is %s", got)
	}
	path := write(padded + "#")
	if _, err := policyfile.Load(path); err == nil || err.Error() != path+":1:1: the file has more than 1048576 bytes, want a policy file" {
		t.Errorf("a byte more: got %v", err)
	}
	path = write("levels: x\n")
	if _, err := policyfile.Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1:9: levels: ") {
		t.Errorf("got %v, want a place in %s", err, path)
	}
	if _, err := policyfile.Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v, want one that is os.ErrNotExist", err)
	}
	if _, err := policyfile.Load(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory: got %v, want an error that names it", err)
	}
}

// What a store cannot do is said with the place in the file, as every other mistake is.
func TestMisfits(t *testing.T) {
	const text = `levels:
  - {name: ip, limit: 1/s, on_failure: open}
  - {name: user, limit: [1/s, {limit: 1/h, algorithm: sliding_log}]}
  - {name: endpoint, limit: unlimited, on_failure: closed}
routes:
  GET /: [{name: ip, limit: 2/s, algorithm: sliding_window, on_failure: local}]
`
	token := []core.Algorithm{core.TokenBucket}
	for _, test := range []struct {
		has  core.Traits
		want string
	}{
		{core.Traits{Algorithms: token}, "3:5: levels[1].on_failure: LOCAL\n3:55: levels[1].limit[1].algorithm: sliding_log\n" +
			"6:45: routes[\"GET /\"][0].algorithm: sliding_window\n6:73: routes[\"GET /\"][0].on_failure: LOCAL"},
		{core.Traits{Algorithms: token, Local: true}, "3:55: levels[1].limit[1].algorithm: sliding_log\n6:45: routes[\"GET /\"][0].algorithm: sliding_window"},
		{core.Traits{Algorithms: everything.has.Algorithms}, "3:5: levels[1].on_failure: LOCAL\n6:73: routes[\"GET /\"][0].on_failure: LOCAL"},
	} {
		_, err := parse(t, text).Limiter(partial{has: test.has})
		want := "p.yaml:" + strings.NewReplacer(
			"LOCAL", "local needs a store with a local half, want fallback.New around it, or open or closed here",
			": sliding_log", ": sliding_log is not what the store can run, want one of [token_bucket]",
			": sliding_window", ": sliding_window is not what the store can run, want one of [token_bucket]",
			"\n", "\np.yaml:").Replace(test.want)
		if err == nil || err.Error() != want {
			t.Errorf("got\n%v\nwant\n%s", err, want)
		}
	}
	if _, err := parse(t, text).Limiter(everything); err != nil {
		t.Errorf("a store that has everything: %v", err)
	}
	const shaped = "levels:\n  - {name: ip, limit: [{limit: 60/min, step: 60, start: 0}, {limit: 9/day, calendar: daily}], on_failure: open}\n"
	want := "p.yaml:2:46: levels[0].limit[0].step: step is not what the store knows, want none\n" +
		"p.yaml:2:57: levels[0].limit[0].start: start is not what the store knows, want none\n" +
		"p.yaml:2:86: levels[0].limit[1].calendar: calendar is not what the store knows, want none"
	if _, err := parse(t, shaped).Limiter(partial{has: core.Traits{Algorithms: everything.has.Algorithms}}); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := parse(t, text).Limiter(nil); err == nil || !strings.Contains(err.Error(), "store is nil") {
		t.Errorf("no store: got %v", err)
	}
}
