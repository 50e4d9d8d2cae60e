package core

import (
	"net/netip"
	"strings"
)

// ForwardHeader is the header in which proxies report the address they were called from. The
// zero value is XForwardedFor.
type ForwardHeader uint8

// The headers a Proxies can read, exactly one at a time.
const (
	XForwardedFor ForwardHeader = iota // a list of addresses, each with or without brackets and port
	Forwarded                          // RFC 7239
	XRealIP                            // one address, in the last line
)

var forwardHeaderNames = [...]string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"}

// String is the header's name in the canonical form of net/http, "" for a value that is no
// constant.
func (h ForwardHeader) String() string {
	if int(h) >= len(forwardHeaderNames) {
		return ""
	}
	return forwardHeaderNames[h]
}

// lastForwardedFor cuts the last entry off an X-Forwarded-For line. Empty entries are not skipped
// as lists in RFC 9110 section 5.6.1 are: one is what a proxy writes that knew no address, and
// what stands to the left of it came from whoever called that proxy.
func lastForwardedFor(line string) (hop netip.Addr, rest string, more bool) {
	comma := strings.LastIndexByte(line, ',')
	return nodeAddr(trimSpace(line[comma+1:])), line[:max(comma, 0)], comma >= 0
}

// lastElement cuts the last forwarded-element off a Forwarded line (RFC 7239 section 4).
func lastElement(line string) (hop netip.Addr, rest string, more bool) {
	comma := lastComma(line)
	return forAddr(trimSpace(line[comma+1:])), line[:max(comma, 0)], comma >= 0
}

// lastComma finds the last comma outside quoted strings, -1 for none. It reads from the right:
// read from the left, a quotation mark that a client left open would swallow what the proxies
// appended. That works because in the grammar a mark is escaped exactly if an odd number of
// backslashes precedes it. Where quotes do not pair up, forAddr finds the element malformed.
func lastComma(line string) int {
	quoted := false
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ',':
			if !quoted {
				return i
			}
		case '"':
			backslashes := 0
			for i > backslashes && line[i-1-backslashes] == '\\' {
				backslashes++
			}
			if backslashes%2 == 0 {
				quoted = !quoted
			}
		}
	}
	return -1
}

// forAddr is the address in the for= pair of an element: zero if there is none, if there are
// two (RFC 7239 section 4 forbids it), or if the element is malformed anywhere. Beyond the
// grammar it allows white space around ";" and an unquoted ":" and "[]", as some proxies write.
func forAddr(element string) netip.Addr {
	var addr netip.Addr
	found := false
	for rest := element; rest != ""; {
		if rest[0] == ';' {
			rest = trimSpace(rest[1:])
			continue
		}
		n := tokenLen(rest, "")
		if n == 0 || n == len(rest) || rest[n] != '=' {
			return netip.Addr{}
		}
		name := rest[:n]
		value, after, ok := cutValue(rest[n+1:])
		if !ok {
			return netip.Addr{}
		}
		rest = trimSpace(after)
		if rest != "" && rest[0] != ';' {
			return netip.Addr{}
		}
		if strings.EqualFold(name, "for") {
			if found {
				return netip.Addr{}
			}
			found, addr = true, nodeAddr(unescape(value))
		}
	}
	return addr
}

// cutValue cuts a token or a quoted-string (RFC 9110 section 5.6.4) off s; the latter comes
// without its marks, still escaped.
func cutValue(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		n := tokenLen(s, ":[]")
		return s[:n], s[n:], n > 0
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			return s[1:i], s[i+1:], true
		}
		if s[i] == '\\' {
			i++
		}
		if i == len(s) || s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return "", "", false
		}
	}
	return "", "", false
}

// unescape undoes quoted-pairs. What is too long for any node gives "", so that a client cannot
// make it allocate.
func unescape(value string) string {
	if strings.IndexByte(value, '\\') < 0 {
		return value
	}
	var buf [128]byte
	n := 0
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' {
			i++
		}
		if n == len(buf) || i == len(value) {
			return ""
		}
		buf[n] = value[i]
		n++
	}
	return string(buf[:n])
}

// nodeAddr is the address in s, which is one of addr, addr:port, [addr] and [addr]:port, without
// zone and never 4-in-6; zero if s is anything else.
func nodeAddr(s string) netip.Addr {
	host, port := s, ""
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return netip.Addr{}
		}
		host, port = s[1:end], s[end+1:]
	} else if colon := strings.IndexByte(s, ':'); colon >= 0 && colon == strings.LastIndexByte(s, ':') {
		host, port = s[:colon], s[colon:]
	}
	if port != "" && (port[0] != ':' || !validPort(port[1:])) {
		return netip.Addr{}
	}
	// netip interns zones: it would copy whatever a client sends behind the percent sign.
	host, zone, zoned := strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil || zoned && (zone == "" || addr.Is4()) {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// validPort accepts a node-port of RFC 7239 section 6: up to five digits or an obfuscated name.
func validPort(s string) bool {
	if strings.HasPrefix(s, "_") {
		return len(s) > 1 && tokenLen(s, "") == len(s)
	}
	digits := strings.TrimLeft(s, "0123456789") == ""
	return digits && len(s) > 0 && len(s) <= 5
}

// tokenLen is how many bytes s begins with that are tchar (RFC 9110 section 5.6.2) or in extra.
func tokenLen(s, extra string) int {
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
			continue
		}
		if strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 && strings.IndexByte(extra, c) < 0 {
			return i
		}
	}
	return len(s)
}

func trimSpace(s string) string { return strings.Trim(s, " \t") }
