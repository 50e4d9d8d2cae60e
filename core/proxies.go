package core

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Proxies says whose forwarding header is believed, and which one. The zero value believes
// nobody: the client is the peer. It never changes, so one value serves any number of
// goroutines.
type Proxies struct {
	trusted []netip.Prefix // masked and never 4-in-6, because netip.Prefix.Contains matches neither form
	header  ForwardHeader
}

// maxForwardHops is how many entries of a header are looked at. A client whose own address is
// trusted could otherwise make each request as dear as its header is long; no real chain of
// proxies comes near it.
const maxForwardHops = 64

// ParseProxies trusts the given prefixes ("10.0.0.0/8", "2001:db8::/32") and single addresses
// ("10.0.0.2"). List the proxies themselves, not the whole private range they live in: every
// host in a trusted prefix can claim to be any client. No entries: the zero Proxies.
//
// As with net.ParseCIDR, host bits are dropped: "10.1.2.3/8" is 10.0.0.0/8. A 4-in-6 entry is
// taken as the IPv4 one it stands for: "::ffff:10.0.0.0/104" is 10.0.0.0/8. Anything else that
// could be meant in two ways is an error and trusts nobody: zones, 4-in-6 prefixes shorter than
// 96 bits, empty entries, several entries in one string. So is a prefix of length zero: with
// everybody trusted each client chooses its own address.
func ParseProxies(cidrs ...string) (Proxies, error) {
	if len(cidrs) == 0 {
		return Proxies{}, nil
	}
	trusted := make([]netip.Prefix, 0, len(cidrs))
	for i, cidr := range cidrs {
		prefix, err := parseProxy(strings.TrimSpace(cidr))
		if err != nil {
			return Proxies{}, fmt.Errorf("proxies[%d] is %q, want %w", i, cidr, err)
		}
		trusted = append(trusted, prefix)
	}
	return Proxies{trusted: trusted}, nil
}

func parseProxy(s string) (netip.Prefix, error) {
	var prefix netip.Prefix
	var err error
	if strings.Contains(s, "/") {
		prefix, err = netip.ParsePrefix(s)
	} else {
		var addr netip.Addr
		addr, err = netip.ParseAddr(s)
		if addr.Zone() != "" {
			err = errors.New("zone given")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if err != nil {
		return netip.Prefix{}, fmt.Errorf(`an address without zone or a prefix such as "10.0.0.0/8": %w`, err)
	}
	if prefix.Addr().Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, errors.New("at least 96 bits for an IPv4 address written as IPv6, or plain IPv4")
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	if prefix.Bits() == 0 {
		return netip.Prefix{}, errors.New("the addresses of your proxies: with everybody trusted a client chooses its own address")
	}
	return prefix.Masked(), nil
}

// Reading returns p with h as the one header that its proxies write; without it that is
// XForwardedFor. No other header is ever looked at: a client can send the kind its proxy does
// not write, and the proxy would pass it on as it came. For the same reason h must be a header
// that every trusted proxy appends to or overwrites. A value that is no ForwardHeader constant
// reads nothing.
func (p Proxies) Reading(h ForwardHeader) Proxies {
	p.header = h
	return p
}

// Client resolves the address of the client. It has no zone and is never 4-in-6, so equal
// clients compare equal however they were spelled. The zero Addr means that no address is known.
//
// peer is the transport peer as the server reports it: "192.0.2.10:443", "[2001:db8::1]:443" or
// a bare address. What holds no address, such as "", "@" or the path of a unix socket, is never
// trusted and gives the zero Addr. values returns all lines of the named header in the order
// received, nil for none; it is called only for a trusted peer. Nothing is kept of what it
// returns, so strings over a buffer in reuse (fasthttp) are fine.
//
// XForwardedFor and Forwarded are walked from the right, where the proxies append, over all
// lines as if joined (RFC 9110 section 5.3). The first address that is not a trusted proxy is
// the client. At an entry without an address (empty, unknown, obfuscated, malformed) the walk
// stops, and the hop to the right of it, which is all that is vouched for, is the client. If
// every entry is trusted the leftmost is the client, or the 64th from the right: best effort,
// since a trusted host could have made it up. XRealIP is one address in the last line; where it
// is anything else the peer is the client.
//
// Time is linear in the length of the header and memory constant, whatever a client sends.
func (p Proxies) Client(peer string, values func(name string) []string) netip.Addr {
	client := nodeAddr(peer)
	if values == nil || !p.trusts(client) {
		return client
	}
	switch p.header {
	case XForwardedFor:
		return p.walk(client, values(p.header.String()), lastForwardedFor)
	case Forwarded:
		return p.walk(client, values(p.header.String()), lastElement)
	case XRealIP:
		// A proxy that adds its line instead of replacing the client's adds it last.
		if lines := values(p.header.String()); len(lines) > 0 {
			if addr := nodeAddr(trimSpace(lines[len(lines)-1])); addr.IsValid() {
				return addr
			}
		}
	}
	return client
}

// walk follows the hops in lines from the right, starting at a trusted peer. last cuts the last
// entry off a line: its address, or zero where it holds none, and whether rest is a further entry.
func (p Proxies) walk(peer netip.Addr, lines []string, last func(line string) (hop netip.Addr, rest string, more bool)) netip.Addr {
	client := peer
	hops := 0
	for _, line := range slices.Backward(lines) {
		for rest, more := line, true; more; hops++ {
			if hops == maxForwardHops {
				return client
			}
			var hop netip.Addr
			hop, rest, more = last(rest)
			if !hop.IsValid() {
				return client
			}
			client = hop
			if !p.trusts(hop) {
				return client
			}
		}
	}
	return client
}

func (p Proxies) trusts(addr netip.Addr) bool {
	for _, prefix := range p.trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
