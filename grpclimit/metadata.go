package grpclimit

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// incoming is the metadata that a server was sent. It copies only what is asked for.
type incoming struct{ ctx context.Context }

func (h incoming) Values(name string) []string {
	return metadata.ValueFromIncomingContext(h.ctx, strings.ToLower(name))
}

func (h incoming) Get(name string) string { return first(h.Values(name)) }

// outgoing is the metadata that a client will send.
type outgoing struct{ ctx context.Context }

func (h outgoing) Values(name string) []string {
	md, _ := metadata.FromOutgoingContext(h.ctx)
	return md.Get(name)
}

func (h outgoing) Get(name string) string { return first(h.Values(name)) }

func first(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// peerAddr is the transport peer: "192.0.2.10:443", but also "@" on a unix socket and "bufconn" in
// memory, which are no addresses to core.Proxies either.
func peerAddr(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	return p.Addr.String()
}
