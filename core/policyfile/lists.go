package policyfile

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

const (
	wantListed = `a mapping such as {ips: [10.0.0.0/8], users: [ada], endpoints: ["GET /healthz"]}`
	wantIP     = "an address without zone or a prefix such as 10.0.0.0/8"
	wantUser   = "a user, in quotes where YAML takes it for no text"
)

// roll reads allow or deny. Core judges each entry alone, so that a mistake is reported where it
// stands.
func (r *reader) roll(n node, option func(core.List) core.Option) core.Option {
	fields, _ := r.fields(n, wantListed, "ips", "users", "endpoints")
	var list core.List
	r.each(fields["ips"], wantIP, func(item node, text string) {
		prefix, err := parsePrefix(text)
		if err != nil {
			r.fail(item.place(), "got %v, want %s: %v", item, wantIP, err)
		} else if r.judge(item, option(core.List{IPs: []netip.Prefix{prefix}})) {
			list.IPs = append(list.IPs, prefix)
		}
	})
	r.each(fields["users"], wantUser, func(item node, text string) {
		if r.judge(item, option(core.List{Users: []string{text}})) {
			list.Users = append(list.Users, text)
		}
	})
	r.each(fields["endpoints"], wantRoute, func(item node, text string) {
		if !endpointForm.MatchString(text) {
			r.fail(item.place(), "got %v, want %s", item, wantRoute)
		} else if r.judge(item, option(core.List{Endpoints: []string{text}})) {
			list.Endpoints = append(list.Endpoints, text)
		}
	})
	return option(list)
}

// each goes through a list of texts that may be left out; want is what an item should be.
func (r *reader) each(n node, want string, read func(item node, text string)) {
	if !n.given() {
		return
	}
	items, _ := r.list(n, "a list, each item "+want)
	for _, item := range items {
		if text, ok := r.text(item, want); ok {
			read(item, text)
		}
	}
}

// parsePrefix takes a single address for a prefix of all its bits.
func parsePrefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		return netip.ParsePrefix(s)
	}
	addr, err := netip.ParseAddr(s)
	if addr.Zone() != "" {
		err = errors.New("zone given")
	}
	return netip.PrefixFrom(addr, addr.BitLen()), err
}
