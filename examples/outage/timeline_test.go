package main

import (
	"fmt"
	"strings"
	"testing"
)

// seconds adds up the lines of a timeline.
type seconds struct {
	sent, ok, ideal, calm, calmOK, refused, failed, shared, local, cache int

	back bool // the last whole second was decided by Redis
}

func (s *seconds) add(line string) {
	var l seconds
	var at float64
	n, _ := fmt.Sscanf(line, "%fs%d%d%d%d%d%d%d%d%d%d", &at, &l.sent, &l.ok, &l.ideal, &l.calm, &l.calmOK, &l.refused, &l.failed, &l.shared, &l.local, &l.cache)
	if n < 11 {
		return
	}
	s.sent, s.ok, s.ideal, s.calm, s.calmOK = s.sent+l.sent, s.ok+l.ok, s.ideal+l.ideal, s.calm+l.calm, s.calmOK+l.calmOK
	s.refused, s.failed, s.shared, s.local, s.cache = s.refused+l.refused, s.failed+l.failed, s.shared+l.shared, s.local+l.local, s.cache+l.cache
	if l.sent > 100 {
		s.back = l.shared > 0 // beside their share, for a while
	}
}

func timelineOfBoth(t *testing.T, binary string) {
	const limit = 50
	p := start(t, binary, "-for", "2s", "-limit", fmt.Sprint(limit), "-rate", "200")
	var all seconds
	var said strings.Builder
	for p.lines.Scan() {
		all.add(p.lines.Text())
		fmt.Fprintln(&said, p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("ended with %v: %s", err, &p.stderr)
	}
	p.leavesNothing()
	p.leavesNoFile()
	if all.failed > 0 {
		t.Errorf("%d requests failed", all.failed)
	}
	if answers := all.sent + all.calm; all.sent < 1000 || all.shared+all.local+all.cache != answers || all.ok+all.calmOK+all.refused != answers {
		t.Errorf("the lines do not add up: %+v", all)
	}
	if all.local < 300 || !all.back {
		t.Errorf("%d local decisions in two outages of 2 s, by Redis again: %v", all.local, all.back)
	}
	for _, fault := range []string{"Redis killed ", "Redis stopped"} {
		if !strings.Contains(said.String(), "\n"+fault+" 3 of 3 replicas decided locally after ") {
			t.Errorf("no word of what followed from %q", fault)
		}
	}
	if n := strings.Count(said.String(), "all shared again"); n != 2 {
		t.Errorf("shared again after %d outages, want 2", n)
	}
	if all.calmOK != all.calm {
		t.Errorf("%d of %d calm requests admitted", all.calmOK, all.calm)
	}
	// Redis is back with a full bucket, twice. The rest is for a loaded machine: three times the limit
	// during the outages would still be much more.
	if least, most := all.ideal*8/10, all.ideal+5*limit; all.ok < least || all.ok > most {
		t.Errorf("%d admitted, ideal %d, want %d to %d", all.ok, all.ideal, least, most)
	}
	if t.Failed() {
		t.Log(said.String())
	}
}
