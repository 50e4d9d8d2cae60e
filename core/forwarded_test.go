package core_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// clientCase is a header, its lines separated by "//", and the client it names.
type clientCase struct{ name, header, want string }

// runClientCases runs each case with peer 10.0.0.2 and 10.0.0.2, 10.0.0.3 and fe80::/10 trusted. The
// other kinds of header are there as well, as a client would send them; reading one is a fault.
func runClientCases(t *testing.T, kind core.ForwardHeader, tests []clientCase) {
	t.Helper()
	p := proxies(t, "10.0.0.2/32", "10.0.0.3", "fe80::/10").Reading(kind)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{
				"X-Forwarded-For": {"6.6.6.6"}, "Forwarded": {"for=6.6.6.6"}, "X-Real-Ip": {"6.6.6.6"},
				"True-Client-Ip": {"6.6.6.6"}, "X-Client-Ip": {"6.6.6.6"},
			}
			h[kind.String()] = strings.Split(tt.header, "//")
			wantClient(t, p.Client("10.0.0.2:443", func(name string) []string {
				if name != kind.String() {
					t.Errorf("%s was read", name)
				}
				return h.Values(name)
			}), tt.want)
			// The same content from anybody else says nothing.
			wantClient(t, p.Client("192.0.2.10:443", h.Values), "192.0.2.10")
		})
	}
}

func TestXForwardedFor(t *testing.T) {
	runClientCases(t, core.XForwardedFor, []clientCase{
		{"one", "198.51.100.7", "198.51.100.7"},
		{"B35a one line", "198.51.100.99, 192.168.1.50", "192.168.1.50"},
		{"B35b two lines", "198.51.100.99//192.168.1.50", "192.168.1.50"},
		{"B35c garbage left", "garbage, 192.168.1.50", "192.168.1.50"},
		{"B35d all trusted", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"all trusted over lines", "10.0.0.3//10.0.0.2, 10.0.0.2", "10.0.0.3"},
		{"measured in facts 4.1", "6.6.6.6, 1.2.3.4", "1.2.3.4"},
		{"proxy to the right", "6.6.6.6, 1.2.3.4, 10.0.0.3", "1.2.3.4"},
		{"proxies over lines", "6.6.6.6, 1.2.3.4//10.0.0.3//10.0.0.3", "1.2.3.4"},
		{"client claims a proxy", "6.6.6.6, 10.0.0.3, 1.2.3.4", "1.2.3.4"},
		{"client claims loopback", "127.0.0.1, 1.2.3.4", "1.2.3.4"},
		{"client inside the private range", "6.6.6.6, 10.9.9.9", "10.9.9.9"},
		{"no space", "6.6.6.6,1.2.3.4", "1.2.3.4"},
		{"tabs and spaces", "6.6.6.6 ,\t 1.2.3.4\t ", "1.2.3.4"},
		{"port", "1.2.3.4:5555", "1.2.3.4"},
		{"IPv6", "2001:db8::1", "2001:db8::1"},
		{"not canonical", "2001:DB8:0:0::1", "2001:db8::1"},
		{"brackets", "[2001:db8::1]", "2001:db8::1"},
		{"brackets and port", "[2001:db8::1]:443", "2001:db8::1"},
		{"zone", "2001:db8::1%eth0", "2001:db8::1"},
		{"zone in brackets", "[2001:db8::1%25eth0]:1", "2001:db8::1"},
		{"mapped", "::ffff:1.2.3.4", "1.2.3.4"},
		{"mapped in hex", "::ffff:102:304", "1.2.3.4"},
		{"mapped in brackets", "[::ffff:1.2.3.4]:80", "1.2.3.4"},
		{"mapped proxy is trusted", "1.2.3.4, ::ffff:10.0.0.3", "1.2.3.4"},
		{"mapped proxy in hex", "1.2.3.4, [0:0:0:0:0:ffff:0a00:0003]:9", "1.2.3.4"},
		{"zoned proxy is trusted", "1.2.3.4, fe80::9%eth0", "1.2.3.4"},
		{"proxy with port", "1.2.3.4:1, 10.0.0.3:2", "1.2.3.4"},
		{"compatible is not mapped", "1.2.3.4, ::10.0.0.3", "::10.0.0.3"},
		// Whatever is to the left of an entry without an address was not vouched for.
		{"garbage alone", "garbage", "10.0.0.2"},
		{"garbage right", "1.2.3.4, garbage", "10.0.0.2"},
		{"garbage between", "1.2.3.4, garbage, 10.0.0.3", "10.0.0.3"},
		{"unknown", "1.2.3.4, unknown", "10.0.0.2"},
		{"unix socket of nginx", "1.2.3.4, unix:", "10.0.0.2"},
		{"empty", "", "10.0.0.2"},
		{"empty right", "1.2.3.4,", "10.0.0.2"},
		{"empty between", "1.2.3.4, , 10.0.0.3", "10.0.0.3"},
		{"empty left", ", 1.2.3.4", "1.2.3.4"},
		{"empty line", "1.2.3.4//", "10.0.0.2"},
		{"blank line", "1.2.3.4// \t", "10.0.0.2"},
		{"commas", ",,,", "10.0.0.2"},
		{"zone on IPv4", "1.2.3.4%eth0", "10.0.0.2"},
		{"zone empty", "fe80::1%", "10.0.0.2"},
		{"octal", "010.0.0.3", "10.0.0.2"},
		{"decimal", "16909060", "10.0.0.2"},
		{"hex", "0x01020304", "10.0.0.2"},
		{"short", "1.2.3", "10.0.0.2"},
		{"out of range", "1.2.3.256", "10.0.0.2"},
		{"full width digits", "１.2.3.4", "10.0.0.2"},
		{"prefix", "1.2.3.4/32", "10.0.0.2"},
		{"named port", "1.2.3.4:http", "10.0.0.2"},
		{"port empty", "1.2.3.4:", "10.0.0.2"},
		{"port too long", "1.2.3.4:000080", "10.0.0.2"},
		{"text behind brackets", "[2001:db8::1]x", "10.0.0.2"},
		{"bracket open", "[2001:db8::1", "10.0.0.2"},
		{"bracket closed", "2001:db8::1]", "10.0.0.2"},
		{"two addresses", "6.6.6.6 1.2.3.4", "10.0.0.2"},
		{"semicolon list", "6.6.6.6; 1.2.3.4", "10.0.0.2"},
		{"quoted", `"1.2.3.4"`, "10.0.0.2"},
		{"Forwarded syntax", "for=1.2.3.4", "10.0.0.2"},
		{"NUL", "1.2.3.4\x00", "10.0.0.2"},
		{"other white space", "1.2.3.4\u00a0", "10.0.0.2"},
	})
}

func TestForwarded(t *testing.T) {
	runClientCases(t, core.Forwarded, []clientCase{
		{"token", "for=192.0.2.43", "192.0.2.43"},
		{"rightmost", "for=6.6.6.6, for=1.2.3.4", "1.2.3.4"},
		{"lines", "for=6.6.6.6//for=1.2.3.4//for=10.0.0.3", "1.2.3.4"},
		{"all trusted", "for=10.0.0.3,for=10.0.0.2", "10.0.0.3"},
		{"RFC section 4", `for="[2001:db8:cafe::17]:4711"`, "2001:db8:cafe::17"},
		{"name in capitals", `For="[2001:db8:cafe::17]"`, "2001:db8:cafe::17"},
		{"pairs", "for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"},
		{"for last", "by=10.0.0.2;PROTO=https;FOR=192.0.2.60", "192.0.2.60"},
		{"by is not for", "for=6.6.6.6, by=1.2.3.4", "10.0.0.2"},
		{"xfor is not for", "for=6.6.6.6, xfor=1.2.3.4", "10.0.0.2"},
		{"quoted IPv4 with port", `for="1.2.3.4:5555"`, "1.2.3.4"},
		{"obfuscated port", `for="1.2.3.4:_http.8"`, "1.2.3.4"},
		{"obfuscated port empty", `for="1.2.3.4:_"`, "10.0.0.2"},
		{"comma and semicolon quoted", `for=6.6.6.6, for=1.2.3.4;host="a,b;for=7.7.7.7, for=8.8.8.8"`, "1.2.3.4"},
		{"escaped mark", `for=1.2.3.4;host="a\", for=6.6.6.6;x=\"b"`, "1.2.3.4"},
		{"escaped backslash last", `for=6.6.6.6, for=1.2.3.4;host="a\\", for=10.0.0.3`, "1.2.3.4"},
		{"escaped mark last", `for=6.6.6.6, for=1.2.3.4;host="a\"", for=10.0.0.3`, "1.2.3.4"},
		{"escaped address", `for="1\.2\.3\.\4"`, "1.2.3.4"},
		{"empty pairs", "for=1.2.3.4;;by=_x;", "1.2.3.4"},
		{"spaces around semicolon", "for=1.2.3.4 ; by=_x", "1.2.3.4"},
		{"mapped", `for="[::ffff:1.2.3.4]"`, "1.2.3.4"},
		{"mapped proxy", `for=1.2.3.4, for="[::ffff:10.0.0.3]"`, "1.2.3.4"},
		{"zone", `for="[2001:db8::1%25eth0]"`, "2001:db8::1"},
		{"token with port", "for=1.2.3.4:80", "1.2.3.4"},
		{"token with brackets", "for=[2001:db8::1]:80", "2001:db8::1"},
		{"unknown", "for=1.2.3.4, for=unknown", "10.0.0.2"},
		{"unknown between", "for=1.2.3.4, for=Unknown, for=10.0.0.3", "10.0.0.3"},
		{"obfuscated", "for=1.2.3.4, for=_hidden, for=_SEVKISEK", "10.0.0.2"},
		{"obfuscated address", "for=6.6.6.6, for=_1.2.3.4", "10.0.0.2"},
		{"no for", "for=1.2.3.4, proto=http", "10.0.0.2"},
		{"empty element", "for=1.2.3.4,", "10.0.0.2"},
		{"empty line", "for=1.2.3.4//", "10.0.0.2"},
		{"empty value", "for=", "10.0.0.2"},
		{"empty quoted", `for=""`, "10.0.0.2"},
		{"for twice", "for=6.6.6.6;for=1.2.3.4", "10.0.0.2"},
		{"for twice, first hidden", "for=_x;For=1.2.3.4", "10.0.0.2"},
		{"no value", "for=1.2.3.4;secure", "10.0.0.2"},
		{"no name", "=1.2.3.4", "10.0.0.2"},
		{"space around equals", "for = 1.2.3.4", "10.0.0.2"},
		{"space in token", "for=1.2.3.4 x", "10.0.0.2"},
		{"X-Forwarded-For syntax", "1.2.3.4", "10.0.0.2"},
		{"text behind quotes", `for="1.2.3.4"x`, "10.0.0.2"},
		{"text before quotes", `for=x"1.2.3.4"`, "10.0.0.2"},
		{"quoted name", `"for"=1.2.3.4`, "10.0.0.2"},
		{"bad pair beside for", `for=1.2.3.4;host="a"b`, "10.0.0.2"},
		{"bad pair behind quotes", `for=1.2.3.4;a="b"c=d`, "10.0.0.2"},
		{"space for semicolon", "for=1.2.3.4 by=_x", "10.0.0.2"},
		{"no name beside for", "=x;for=1.2.3.4", "10.0.0.2"},
		{"every token character", "!#$%&'*+-.^_`|~09azAZ=x;for=1.2.3.4", "1.2.3.4"},
		{"slash in name", "a/b=x;for=1.2.3.4", "10.0.0.2"},
		{"at sign in value", "a=b@c;for=1.2.3.4", "10.0.0.2"},
		{"bracket in name", "a[=x;for=1.2.3.4", "10.0.0.2"},
		{"letter beyond ASCII", "é=x;for=1.2.3.4", "10.0.0.2"},
		{"beyond ASCII in quotes", `for=1.2.3.4;host="é"`, "1.2.3.4"},
		{"tab in quotes", "for=1.2.3.4;host=\"a\tb\"", "1.2.3.4"},
		{"DEL in quotes", "for=1.2.3.4;host=\"\x7f\"", "10.0.0.2"},
		{"slash in obfuscated port", `for="1.2.3.4:_a/b"`, "10.0.0.2"},
		{"escape outside quotes", `for=1.2.3.4;a=\"`, "10.0.0.2"},
		{"control character", "for=1.2.3.4;host=\"\x01\"", "10.0.0.2"},
		{"open quote", `for="1.2.3.4`, "10.0.0.2"},
		{"open quote right", `for=1.2.3.4, for="10.0.0.3`, "10.0.0.2"},
		{"quote closed by an escape", `for=1.2.3.4, for="10.0.0.3\"`, "10.0.0.2"},
		{"lone quote", `for=1.2.3.4, "`, "10.0.0.2"},
		// What the client left open must not swallow what the proxy appended.
		{"client opens quote", `for=", for=1.2.3.4`, "1.2.3.4"},
		{"client opens quote, two proxies", `for="x, for=1.2.3.4, for="10.0.0.3"`, "1.2.3.4"},
		{"client ends with backslash", `for="\, for=1.2.3.4;host="x"`, "1.2.3.4"},
		{"quote does not span lines", `for=6.6.6.6;a="//", for=1.2.3.4`, "1.2.3.4"},
		{"quote closed on the next line", `for=6.6.6.6;a="//b"`, "10.0.0.2"},
	})
}

func TestXRealIP(t *testing.T) {
	runClientCases(t, core.XRealIP, []clientCase{
		{"one", "1.2.3.4", "1.2.3.4"},
		{"last line", "6.6.6.6//1.2.3.4", "1.2.3.4"},
		{"last line bad", "6.6.6.6//x", "10.0.0.2"},
		{"last line empty", "6.6.6.6//", "10.0.0.2"},
		{"list", "6.6.6.6, 1.2.3.4", "10.0.0.2"},
		{"garbage", "not an ip", "10.0.0.2"},
		{"mapped", " [::ffff:1.2.3.4]:1 ", "1.2.3.4"},
		{"zone", "fe80::1%eth0", "fe80::1"},
		{"a proxy", "10.0.0.3", "10.0.0.3"},
	})
	// B36: what counts is the peer, not the address it claims.
	p := proxies(t, "8.8.8.8/32").Reading(core.XRealIP)
	wantClient(t, p.Client("1.1.1.1:1", func(string) []string { return []string{"8.8.8.8"} }), "1.1.1.1")
	wantClient(t, p.Client("8.8.8.8:1", func(string) []string { return []string{"1.1.1.1"} }), "1.1.1.1")
}
