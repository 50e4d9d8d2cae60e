package core

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// List names requests by who sends them or where they go: one is on it if its address, its user
// or its endpoint is. The zero List names nobody. An entry given twice is no mistake.
type List struct {
	// IPs hold the client's whole address, whatever WithIPv6Prefix makes of it. A single address
	// is a prefix of all its bits. Host bits are a mistake: 10.1.2.3/8 may be meant as 10.0.0.0/8
	// or as 10.1.2.3/32. A 4-in-6 prefix is the IPv4 one it stands for, and needs 96 bits.
	IPs []netip.Prefix
	// Users are compared with Request.User, byte by byte. None is empty: the anonymous are no user.
	Users []string
	// Endpoints are spelt as those of WithRoute: "POST /items/:id", "* /admin", "/shop.v1.Items/Get".
	// One that is no route of the service is on the list in vain: see UnseenRoutes.
	Endpoints []string
}

// WithAllowList exempts requests from every level of this limiter: those on it are allowed and
// counted nowhere, as on an Exempt route. It is judged before anything is counted, and after the
// deny list: a request on both is refused. Given again, also to SetPolicy, it takes the place of
// the one before; the zero List takes it away. Limiters made by With have it too.
//
// Exempt nobody by what a client can choose: an address is only as true as Proxies are.
func WithAllowList(list List) Option {
	return func(c *config) { c.allow = c.roster("allow list", list) }
}

// WithDenyList refuses requests before anything is counted, also on Exempt routes: as Listed, which
// is 403 in HTTP and PERMISSION_DENIED in gRPC, without a wait, since none helps. For the rest it
// is like WithAllowList.
//
// It refuses what the limiter is asked about. What an adapter lets through unasked, as WithSkip
// and a cost of 0 make it do, it does not see.
func WithDenyList(list List) Option {
	return func(c *config) { c.deny = c.roster("deny list", list) }
}

// roster is nil for a list that names nobody, so that asking it costs nothing.
func (c *config) roster(name string, list List) *roster {
	if len(list.IPs)+len(list.Users)+len(list.Endpoints) == 0 {
		return nil
	}
	r, err := newRoster(list)
	if err != nil {
		c.fail("%s: %w", name, err)
	}
	return r
}

// canonical is the one form of a prefix: masked, and never 4-in-6.
func canonical(p netip.Prefix) (netip.Prefix, error) {
	if !p.IsValid() {
		return p, errors.New("an address with a length, such as 10.0.0.0/8")
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return p, errors.New("at least 96 bits for an IPv4 address written as IPv6, or plain IPv4")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p != p.Masked() {
		return p, fmt.Errorf("%v, or %v/%d for the one address", p.Masked(), p.Addr(), p.Addr().BitLen())
	}
	return p, nil
}

func newRoster(list List) (*roster, error) {
	r := &roster{users: map[string]bool{}, endpoints: map[string]*listedEndpoint{}, paths: map[string]*listedEndpoint{}}
	prefixes := make([]netip.Prefix, len(list.IPs))
	for i, given := range list.IPs {
		prefix, err := canonical(given)
		if err != nil {
			return nil, fmt.Errorf("ips[%d] is %v, want %w", i, given, err)
		}
		prefixes[i] = prefix
	}
	r.ips = newPrefixSet(prefixes)
	for i, user := range list.Users {
		if user == "" {
			return nil, fmt.Errorf(`users[%d] is "", want a user`, i)
		}
		r.users[strings.Clone(user)] = true
	}
	for i, endpoint := range list.Endpoints {
		if err := validateEndpoint(endpoint); err != nil {
			return nil, fmt.Errorf("endpoints[%d]: %w", i, err)
		}
		r.addEndpoint(normalizeEndpoint(endpoint))
	}
	return r, nil
}
