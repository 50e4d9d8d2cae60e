package core_test

import (
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func FuzzClient(f *testing.F) {
	for _, header := range []string{"6.6.6.6, 1.2.3.4", "6.6.6.6\n1.2.3.4:80\n[::ffff:10.0.0.3]:1", "1.2.3.4, unknown", `for=", for="[2001:db9::1%25x]:80";by=_a`, "fe80::1%eth0,", "::ffff:102:304"} {
		for kind := range uint8(3) {
			f.Add("10.0.0.2:443", header, "10.0.0.9", kind)
			f.Add("[2001:db9::1%eth0]:1", header, `"\`, kind)
		}
	}
	p := proxies(f, "10.0.0.0/8", "fe80::/10", "::ffff:172.16.0.0/108")
	f.Fuzz(func(t *testing.T, peer, header, left string, kind uint8) {
		p := p.Reading(core.ForwardHeader(kind % 4)) // one of the four is no constant
		lines := strings.Split(header, "\n")
		through := func(peer string, lines ...string) netip.Addr {
			got := p.Client(peer, func(string) []string { return lines })
			if got != got.Unmap().WithZone("") {
				t.Fatalf("client %v is mapped or has a zone", got)
			}
			return got
		}
		trusted := func(addr netip.Addr) bool {
			other := []string{"203.0.113.1"}
			return p.Reading(core.XRealIP).Client(addr.String(), func(string) []string { return other }) != addr
		}

		direct := core.Proxies{}.Client(peer, unread(t))
		if addr, err := netip.ParseAddr(peer); err == nil && direct != addr.WithZone("").Unmap() {
			t.Fatalf("peer = %v, netip reads %v", direct, addr)
		}
		if ap, err := netip.ParseAddrPort(peer); err == nil && ap.String() == peer && strings.Count(peer, "]") < 2 && direct != ap.Addr().WithZone("").Unmap() {
			t.Fatalf("peer = %v, netip reads %v", direct, ap)
		}
		got := through(peer, lines...)
		if got != direct && !trusted(direct) {
			t.Fatalf("peer %v is not trusted, yet the client is %v", direct, got)
		}
		if got.IsValid() != direct.IsValid() {
			t.Fatalf("client = %v for peer %v", got, direct)
		}

		// An untrusted client behind a trusted proxy is what a proxy vouched for: nothing to its
		// left, which is what clients can write, may change it.
		const proxy = "10.0.0.2:443"
		for _, lines := range [][]string{lines, {header, "for=198.51.100.7"}, {header, "198.51.100.7"}} {
			client := through(proxy, lines...)
			if trusted(client) {
				continue
			}
			if again := through(proxy, slices.Concat(strings.Split(left, "\n"), lines)...); again != client {
				t.Fatalf("lines before %q changed %v to %v", lines, client, again)
			}
			if core.ForwardHeader(kind%4) == core.XRealIP {
				continue // not a list
			}
			spoofed := slices.Concat([]string{left + "," + lines[0]}, lines[1:])
			if again := through(proxy, spoofed...); again != client {
				t.Fatalf("%q left of %q changed %v to %v", left, lines, client, again)
			}
		}
	})
}

const (
	fwdToken   = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	fwdQuoted  = `"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*"`
	fwdPair    = fwdToken + "=(?:" + fwdToken + "|" + fwdQuoted + ")"
	fwdElement = "(?:" + fwdPair + ")?(?:;(?:" + fwdPair + ")?)*"
)

var (
	forwardedGrammar = regexp.MustCompile(`^[ \t]*` + fwdElement + `(?:[ \t]*,[ \t]*` + fwdElement + `)*[ \t]*$`)
	forwardedParts   = regexp.MustCompile("(" + fwdToken + ")=(" + fwdToken + "|" + fwdQuoted + ")|,")
	fwdEscape        = regexp.MustCompile(`(?s)\\(.)`)
	fwdQuotable      = regexp.MustCompile("^" + fwdQuoted + "$")
)

// forwardedModel reads a header that keeps to RFC 7239 from the left, as the RFC is written.
func forwardedModel(header string, trusted netip.Prefix, peer netip.Addr) netip.Addr {
	elements := [][]string{nil}
	for _, part := range forwardedParts.FindAllStringSubmatch(header, -1) {
		last := &elements[len(elements)-1]
		switch {
		case part[0] == ",":
			elements = append(elements, nil)
		case strings.EqualFold(part[1], "for") && part[2][0] == '"':
			*last = append(*last, fwdEscape.ReplaceAllString(part[2][1:len(part[2])-1], "$1"))
		case strings.EqualFold(part[1], "for"):
			*last = append(*last, part[2])
		}
	}
	client := peer
	for _, fors := range slices.Backward(elements[max(0, len(elements)-64):]) {
		if len(fors) != 1 {
			break
		}
		hop := core.Proxies{}.Client(fors[0], nil)
		if !hop.IsValid() {
			break
		}
		if client = hop; !trusted.Contains(hop) {
			break
		}
	}
	return client
}

func FuzzForwarded(f *testing.F) {
	for _, header := range []string{
		"for=192.0.2.43, for=10.0.0.3", `for=6.6.6.6;host="a\", b;\\"; by=_x , For="[2001:db8::1]:_p"`, `for="`, `"\`, `for="1\.2.3.4",for="10.0.0.9:80"`, ";;,for=unknown", "for=a;for=b", `host="é,";for=1.2.3.4`,
	} {
		f.Add(header, "a\", for=6.6.6.6;x=\"")
	}
	trusted, peer := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParseAddr("10.0.0.2")
	p := proxies(f, trusted.String()).Reading(core.Forwarded)
	f.Fuzz(func(t *testing.T, header, host string) {
		through := func(lines ...string) netip.Addr {
			return p.Client("10.0.0.2:443", func(string) []string { return lines })
		}
		got := through(header)
		if !got.IsValid() || got != got.Unmap().WithZone("") {
			t.Fatalf("client = %v", got)
		}
		if forwardedGrammar.MatchString(header) {
			if want := forwardedModel(header, trusted, peer); got != want {
				t.Fatalf("client of %q = %v, RFC 7239 reads %v", header, got, want)
			}
		}
		// Client-chosen text that a proxy quotes as it should cannot pose as a hop, nor can what
		// the client sent before it.
		escaped := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(host) + `"`
		if !fwdQuotable.MatchString(escaped) {
			return
		}
		for _, line := range []string{`for=198.51.100.7;host=` + escaped, `x=` + escaped + `;for="198.51.100.7:1"`, `for=198.51.100.7;x=` + escaped + `, host=` + escaped + `;for=10.0.0.3`} {
			for _, lines := range [][]string{{line}, {header + "," + line}, {header, line}} {
				if got := through(lines...); got.String() != "198.51.100.7" {
					t.Fatalf("client of %q = %v, want 198.51.100.7", lines, got)
				}
			}
		}
	})
}

func TestForwardHops(t *testing.T) {
	p := proxies(t, "10.0.0.2", "10.0.0.3")
	for hops, want := range map[int]string{62: "1.2.3.4", 63: "1.2.3.4", 64: "10.0.0.3", 1 << 16: "10.0.0.3"} {
		line := "1.2.3.4" + strings.Repeat(",10.0.0.3", hops)
		wantClient(t, p.Client("10.0.0.2:1", func(string) []string { return []string{line} }), want)
		wantClient(t, p.Client("10.0.0.2:1", func(string) []string { return strings.Split(line, ",") }), want)
	}
}

// A header costs time linear in its length and no memory, whatever it holds. Quadratic work on
// these would take minutes.
func TestHostileHeader(t *testing.T) {
	const size = 1 << 18
	p := proxies(t, "10.0.0.2", "fe80::/10")
	for _, unit := range []string{"a", "1", ",", " ", ":", "[", "%", "fe80::1%x", "1.2.3.4,", "10.0.0.2,", `"`, `\`, `\"`, `"\`, `\\"`, `="`, ";", "for=", "for=10.0.0.2,", `a="",`, `a=b;`, "\x00"} {
		body := strings.Repeat(unit, size/len(unit))
		for _, line := range []string{body, "fe80::1%" + body, `for="` + body, `for="` + body + `"`, `for="[fe80::1%` + body + `]"`, body + ", for=10.0.0.2", `x="` + body + `", 10.0.0.2`} {
			for _, kind := range []core.ForwardHeader{core.XForwardedFor, core.Forwarded, core.XRealIP} {
				lines := []string{line}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				got := p.Reading(kind).Client("10.0.0.2:1", func(string) []string { return lines })
				took := time.Since(start)
				runtime.ReadMemStats(&after)
				if !got.IsValid() || got.Zone() != "" || got.Is4In6() {
					t.Errorf("%v of %q: client = %v", kind, unit, got)
				}
				if took > 2*time.Second {
					t.Errorf("%v of %q took %v", kind, unit, took)
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > size/16 {
					t.Errorf("%v of %q allocated %d bytes", kind, unit, n)
				}
			}
		}
	}
}
