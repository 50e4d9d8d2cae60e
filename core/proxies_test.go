package core_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func proxies(t testing.TB, cidrs ...string) core.Proxies {
	t.Helper()
	p, err := core.ParseProxies(cidrs...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantClient compares with "" for the zero Addr.
func wantClient(t *testing.T, got netip.Addr, want string) {
	t.Helper()
	if want == "" {
		if got.IsValid() {
			t.Errorf("client = %v, want the zero Addr", got)
		}
		return
	}
	if got != netip.MustParseAddr(want) {
		t.Errorf("client = %v, want %s", got, want)
	}
}

// unread is a header source that must stay untouched.
func unread(t *testing.T) func(string) []string {
	return func(name string) []string {
		t.Errorf("%s was read", name)
		return []string{"6.6.6.6"}
	}
}

func TestParseProxiesTrusts(t *testing.T) {
	tests := []struct {
		cidrs string // separated by a bar
		yes   string
		no    string
	}{
		{"10.0.0.0/8", "10.0.0.0 10.255.255.255 ::ffff:10.1.2.3 ::ffff:a01:203", "11.0.0.0 9.255.255.255 ::10.0.0.1"},
		{"10.0.0.2", "10.0.0.2", "10.0.0.1 10.0.0.3"},
		{"10.1.2.3/8", "10.0.0.1", "11.0.0.1"},
		{" 10.0.0.0/8 |\t192.168.0.1", "10.0.0.1 192.168.0.1", "192.168.0.2"},
		{"::ffff:10.0.0.0/104", "10.0.0.1 10.255.0.1 ::ffff:10.0.0.1", "11.0.0.1 ::1"},
		{"::ffff:10.0.0.2", "10.0.0.2 ::ffff:10.0.0.2", "10.0.0.3"},
		{"::ffff:a00:2/128", "10.0.0.2", "10.0.0.3"},
		{"2001:db8::/32", "2001:db8::1 2001:DB8:0:0::1", "2001:db9::1 10.0.0.1"},
		{"fe80::/10", "fe80::1 fe80::1%eth0", "fec0::1"},
		{"::1", "::1", "::2 127.0.0.1"},
		{"0.0.0.0/1|128.0.0.0/1", "1.2.3.4 200.1.1.1", "::1"},
	}
	for _, tt := range tests {
		p := proxies(t, strings.Split(tt.cidrs, "|")...)
		header := func(string) []string { return []string{"198.51.100.7"} }
		for addr := range strings.FieldsSeq(tt.yes) {
			if got := p.Client(addr, header); got != netip.MustParseAddr("198.51.100.7") {
				t.Errorf("%q: peer %s is not trusted", tt.cidrs, addr)
			}
		}
		for addr := range strings.FieldsSeq(tt.no) {
			if got := p.Client(addr, header); got != netip.MustParseAddr(addr) {
				t.Errorf("%q: peer %s is trusted", tt.cidrs, addr)
			}
		}
	}
}

func TestParseProxiesRefusesWhole(t *testing.T) {
	for _, bad := range []string{
		"", " ", "*", "all", "localhost", "proxy.internal", "10.0.0/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "/8",
		"10.0.0.0/08", "10.0.0.0/255.0.0.0", "010.0.0.2", "10.0.0.2:80", "[::1]", "10.0.0.0/8,10.0.0.1", "10.0.0.1 10.0.0.2",
		"fe80::1%eth0", "fe80::%eth0/10", "::ffff:10.0.0.1%eth0", "2001:db8::/129",
		"::ffff:10.0.0.0/8", "::ffff:10.0.0.0/95", // would cover no IPv4 address at all
		"0.0.0.0/0", "::/0", "10.0.0.0/0", "::ffff:0.0.0.0/96",
	} {
		p, err := core.ParseProxies("10.0.0.2", bad)
		if err == nil {
			t.Errorf("%q is accepted", bad)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "proxies[1]") || !strings.Contains(text, `"`+bad+`"`) || !strings.Contains(text, "want ") {
			t.Errorf("%q: error does not name the entry and what was wanted: %v", bad, err)
		}
		wantClient(t, p.Client("10.0.0.2:1", unread(t)), "10.0.0.2")
	}
}

func TestNobodyTrusted(t *testing.T) {
	spoof := http.Header{
		"X-Forwarded-For": {"6.6.6.6"}, "X-Real-Ip": {"6.6.6.6"}, "Forwarded": {"for=6.6.6.6"},
		"True-Client-Ip": {"6.6.6.6"}, "Cf-Connecting-Ip": {"6.6.6.6"},
	}
	none, err := core.ParseProxies()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []core.Proxies{{}, none, proxies(t, "10.0.0.2"), proxies(t, "6.6.6.6")} {
		for _, h := range []core.ForwardHeader{core.XForwardedFor, core.Forwarded, core.XRealIP, 200} {
			p = p.Reading(h)
			wantClient(t, p.Client("9.9.9.9:1", spoof.Values), "9.9.9.9")
			wantClient(t, p.Client("9.9.9.9:1", unread(t)), "9.9.9.9")
		}
	}
}

func TestPeer(t *testing.T) {
	tests := []struct{ peer, want string }{
		{"192.0.2.10:443", "192.0.2.10"},
		{"192.0.2.10", "192.0.2.10"},
		{"[2001:db8::1]:443", "2001:db8::1"},
		{"[2001:db8::1%eth0]:1", "2001:db8::1"},
		{"[fe80::1%eth0]:1", "fe80::1"},
		{"fe80::1%eth0", "fe80::1"},
		{"2001:DB8:0:0::1", "2001:db8::1"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"[::ffff:1.2.3.4]:80", "1.2.3.4"},
		{"[::ffff:102:304%eth0]:80", "1.2.3.4"},
		{"::ffff:102:304", "1.2.3.4"},
		{"127.0.0.1:0", "127.0.0.1"},
		{"", ""},
		{"@", ""},
		{"@abstract", ""},
		{"/run/x.sock", ""},
		{"/run/10.0.0.2:1", ""},
		{"bufconn", ""},
		{"pipe", ""},
		{"<nil>", ""},
		{"localhost:80", ""},
		{":80", ""},
		{"192.0.2.10:http", ""},
		{"192.0.2.10:", ""},
		{"192.0.2.10:123456", ""},
		{"192.0.2.10%eth0:80", ""},
		{"[fe80::1%]:80", ""},
		{"[2001:db8::1", ""},
		{"[2001:db8::1]80", ""},
		{"[]:80", ""},
		{"[", ""},
		{"300.0.0.1:1", ""},
		{" 192.0.2.10:1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.peer, func(t *testing.T) {
			wantClient(t, core.Proxies{}.Client(tt.peer, unread(t)), tt.want)
			// Trust in everybody does not extend to a peer without an address.
			if tt.want == "" {
				p := proxies(t, "0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1")
				wantClient(t, p.Client(tt.peer, unread(t)), "")
			}
		})
	}
}

func TestClientWithoutHeaders(t *testing.T) {
	p := proxies(t, "10.0.0.2")
	for _, h := range []core.ForwardHeader{core.XForwardedFor, core.Forwarded, core.XRealIP, 200} {
		wantClient(t, p.Reading(h).Client("10.0.0.2:1", nil), "10.0.0.2")
		wantClient(t, p.Reading(h).Client("10.0.0.2:1", func(string) []string { return nil }), "10.0.0.2")
		wantClient(t, p.Reading(h).Client("10.0.0.2:1", func(string) []string { return []string{""} }), "10.0.0.2")
	}
	wantClient(t, p.Reading(200).Client("10.0.0.2:1", unread(t)), "10.0.0.2")
	if got := core.ForwardHeader(200).String(); got != "" {
		t.Errorf("name of no header is %q", got)
	}
}

// Reading returns a changed copy; the value it came from is in use by other goroutines.
func TestReadingLeavesOriginal(t *testing.T) {
	p := proxies(t, "10.0.0.2")
	h := http.Header{"X-Forwarded-For": {"1.1.1.1"}, "X-Real-Ip": {"2.2.2.2"}}
	wantClient(t, p.Reading(core.XRealIP).Client("10.0.0.2:1", h.Values), "2.2.2.2")
	wantClient(t, p.Client("10.0.0.2:1", h.Values), "1.1.1.1")
}

func TestClientAllocatesNothing(t *testing.T) {
	h := http.Header{"X-Forwarded-For": {"6.6.6.6, 198.51.100.7, 10.0.0.3"}, "Forwarded": {`for=6.6.6.6, for="[2001:db8::7]:80";host="a,b"`}}
	values := h.Values
	p := proxies(t, "10.0.0.0/8")
	for name, resolve := range map[string]func() netip.Addr{
		"nobody trusted":  func() netip.Addr { return core.Proxies{}.Client("192.0.2.10:443", values) },
		"IPv6 peer":       func() netip.Addr { return core.Proxies{}.Client("[2001:db8::1%eth0]:443", values) },
		"X-Forwarded-For": func() netip.Addr { return p.Client("10.0.0.2:443", values) },
		"Forwarded":       func() netip.Addr { return p.Reading(core.Forwarded).Client("10.0.0.2:443", values) },
	} {
		if n := testing.AllocsPerRun(100, func() { resolve() }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
