package policyfile

import (
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

// file reads the whole of a policy file.
func (r *reader) file(root node, f *File) {
	fields, ok := r.fields(root, "a mapping with levels at least",
		"name", "proxies", "proxy_header", "ipv6_prefix", "headers", "retry_jitter", "allow", "deny", "levels", "routes")
	if !ok {
		return
	}
	if n := fields["name"]; n.given() {
		f.Name, _ = r.name(n)
		f.Options = append(f.Options, core.WithName(f.Name))
	}
	f.Proxies = r.proxies(fields["proxies"], fields["proxy_header"])
	f.runtime = r.settings(fields)
	f.Policy = r.base(root, fields["levels"])
	if n := fields["routes"]; n.given() {
		f.runtime = append(f.runtime, r.routes(n)...)
	}
	f.Options = append(f.Options, f.runtime...)
}

// name reads the name of a limiter or a level, for which core has the same rule.
func (r *reader) name(n node) (string, bool) {
	name, ok := r.text(n, "a name: [a-z][a-z0-9_-]*, at most 64 bytes")
	return name, ok && r.judge(n, core.WithName(name))
}

func (r *reader) settings(fields map[string]node) (opts []core.Option) {
	add := func(n node, opt core.Option) {
		r.judge(n, opt)
		opts = append(opts, opt)
	}
	if n := fields["ipv6_prefix"]; n.given() {
		if bits, ok := r.integer(n, 32, "32 to 128"); ok {
			add(n, core.WithIPv6Prefix(int(bits)))
		}
	}
	if n := fields["headers"]; n.given() {
		if formats, ok := r.headers(n); ok {
			add(n, core.WithHeaders(formats...))
		}
	}
	if n := fields["retry_jitter"]; n.given() {
		if fraction, ok := r.float(n, "0 to 1"); ok {
			add(n, core.WithRetryJitter(fraction))
		}
	}
	if n := fields["allow"]; n.given() {
		opts = append(opts, r.roll(n, core.WithAllowList))
	}
	if n := fields["deny"]; n.given() {
		opts = append(opts, r.roll(n, core.WithDenyList))
	}
	return opts
}

func (r *reader) headers(n node) ([]core.HeaderFormat, bool) {
	names := enum(core.ParseHeaderFormat)
	before := len(r.errs)
	items, _ := r.list(n, "a list of "+strings.Join(names, ", "))
	formats := make([]core.HeaderFormat, len(items))
	for i, item := range items {
		formats[i] = core.HeaderFormat(r.choice(item, names))
	}
	return formats, len(r.errs) == before
}

func (r *reader) proxies(list, header node) core.Proxies {
	var trusted core.Proxies
	if list.given() {
		trusted = r.trusted(list)
	}
	if !header.given() {
		return trusted
	}
	if !list.given() {
		r.fail(header.place(), "without proxies no header is read, want proxies beside it")
	}
	names := enum(func(name string) (h core.ForwardHeader, ok bool) { return h, name != "" })
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	return trusted.Reading(core.ForwardHeader(r.choice(header, names)))
}

func (r *reader) trusted(n node) core.Proxies {
	items, _ := r.list(n, "a list of addresses and prefixes such as 10.0.0.0/8")
	var cidrs []string
	for _, item := range items {
		cidr, ok := r.text(item, "an address or a prefix such as 10.0.0.0/8")
		if !ok {
			continue
		}
		if _, err := core.ParseProxies(cidr); err != nil {
			r.fail(item.place(), "%s", problem(err))
			continue
		}
		cidrs = append(cidrs, cidr)
	}
	trusted, _ := core.ParseProxies(cidrs...) // each has just been found right
	return trusted
}
