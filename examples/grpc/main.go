// Command grpc is a small gRPC service behind a limiter, with health checks and reflection.
//
//	go run ./examples/grpc
//	grpcurl -plaintext -d '{"id": "7"}' -H 'x-user: ann' 127.0.0.1:8080 tierlimit.example.v1.Items/Get
package main

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/examples/grpc/itemspb"
	"github.com/tierlimit/tierlimit/examples/internal/service"
	"github.com/tierlimit/tierlimit/grpclimit"
)

//go:generate protoc -Iitemspb --go_out=itemspb --go_opt=paths=source_relative --go-grpc_out=itemspb --go-grpc_opt=paths=source_relative items.proto

func main() { service.Main("grpc", build) }

func build(s *service.Service) service.Server {
	opts := []grpclimit.Option{grpclimit.WithProxies(s.Proxies), grpclimit.WithUser(user)}
	g := grpc.NewServer(
		grpc.ChainUnaryInterceptor(grpclimit.UnaryServerInterceptor(s.Limiter, opts...)),
		grpc.ChainStreamInterceptor(grpclimit.StreamServerInterceptor(s.Limiter, opts...)),
	)
	itemspb.RegisterItemsServer(g, items{})
	healthpb.RegisterHealthServer(g, health.NewServer())
	reflection.Register(g)
	return server{g}
}

// user takes the caller's word for who they are, so that you can try it with grpcurl. A real
// service verifies an identity first, and gives the limiter what it has verified.
func user(ctx context.Context) string {
	return strings.Join(metadata.ValueFromIncomingContext(ctx, "x-user"), ",")
}

type items struct {
	itemspb.UnimplementedItemsServer
}

func (items) Get(ctx context.Context, r *itemspb.GetRequest) (*itemspb.Item, error) {
	d, _ := core.FromContext(ctx)
	return &itemspb.Item{Id: r.GetId(), Decided: d.Source.String()}, nil
}

func (items) Login(context.Context, *itemspb.LoginRequest) (*itemspb.LoginResponse, error) {
	return &itemspb.LoginResponse{Login: "ok"}, nil
}

func (items) Watch(_ *itemspb.WatchRequest, ss grpc.ServerStreamingServer[itemspb.Tick]) error {
	for i := range int32(len(service.Events)) {
		if err := ss.Send(&itemspb.Tick{Number: i}); err != nil {
			return err
		}
		time.Sleep(service.EventGap)
	}
	return nil
}

type server struct{ *grpc.Server }

func (s server) Close() error {
	s.Stop()
	return nil
}
