package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tierlimit/tierlimit/examples/grpc/itemspb"
	"github.com/tierlimit/tierlimit/examples/internal/processtest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestAsAProcess(t *testing.T) {
	binary := processtest.Build(t, "grpc")
	for name, test := range map[string]func(*testing.T, string){
		"admits 300 a minute and tells a true wait": quota,
		"users and log-ins have their own limits":   limits,
		"streams as it goes":                        stream,
		"health and reflection are not limited":     infrastructure,
		"a killed Redis is no error": func(t *testing.T, binary string) {
			outage(t, binary, (*redistest.Server).Kill, (*redistest.Server).Restart)
		},
		"a stopped Redis is no error": func(t *testing.T, binary string) {
			outage(t, binary, (*redistest.Server).Stop, (*redistest.Server).Cont)
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, binary) })
	}
}

// dial starts the program and calls it.
func dial(t *testing.T, binary string, args ...string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(processtest.Start(t, binary, args...), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func as(t *testing.T, user string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "x-user", user)
}

// policy writes a policy file.
func policy(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func quota(t *testing.T, binary string) {
	server := redistest.Start(t)
	client := itemspb.NewItemsClient(dial(t, binary, "-redis", server.URL()))
	get := func() error {
		_, err := client.Get(t.Context(), &itemspb.GetRequest{Id: "7"})
		return err
	}
	begun, admitted := time.Now(), 0
	err := get()
	for ; err == nil; err = get() {
		admitted++
	}
	refilled := int(time.Since(begun)/(200*time.Millisecond)) + 1
	if admitted < 300 || admitted > 300+refilled {
		t.Errorf("%d admitted, want 300 and at most %d that came back meanwhile", admitted, refilled)
	}
	s := status.Convert(err)
	var wait time.Duration
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			wait = info.GetRetryDelay().AsDuration()
		}
	}
	if s.Code() != codes.ResourceExhausted || wait <= 0 || wait > 200*time.Millisecond {
		t.Fatalf("refused with %v and a wait of %v", s, wait)
	}
	time.Sleep(wait)
	if err := get(); err != nil {
		t.Errorf("refused after waiting as long as told: %v", err)
	}
}

func limits(t *testing.T, binary string) {
	file := policy(t, `
name: example
levels:
  - {name: ip, limit: 300/min}
  - {name: user, limit: 2/min}
routes:
  "/tierlimit.example.v1.Items/Login":
    - {name: ip, limit: 5/15min}
`)
	client := itemspb.NewItemsClient(dial(t, binary, "-policy", file))
	for _, user := range []string{"ann", "bob"} {
		for i, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
			item, err := client.Get(as(t, user), &itemspb.GetRequest{Id: "7"})
			if status.Code(err) != want {
				t.Errorf("call %d of %s: %v, want %v", i, user, err, want)
			}
			if err == nil && (item.GetId() != "7" || item.GetDecided() != "local") {
				t.Errorf("answered %v", item)
			}
		}
	}
	for i := range 7 {
		want := codes.OK
		if i >= 5 {
			want = codes.ResourceExhausted
		}
		if _, err := client.Login(t.Context(), &itemspb.LoginRequest{}); status.Code(err) != want {
			t.Errorf("log-in %d: %v, want %v", i, err, want)
		}
	}
}

func stream(t *testing.T, binary string) {
	ticks, err := itemspb.NewItemsClient(dial(t, binary)).Watch(t.Context(), &itemspb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var first time.Time
	for i := range int32(5) {
		tick, err := ticks.Recv()
		if err != nil || tick.GetNumber() != i {
			t.Fatalf("tick %d: %v, %v", i, tick, err)
		}
		if i == 0 {
			first = time.Now()
		}
	}
	if time.Since(first) < 500*time.Millisecond {
		t.Error("the last tick came with the first: the stream was held back")
	}
	if tick, err := ticks.Recv(); err == nil {
		t.Errorf("a sixth tick: %v", tick)
	}
	if got := ticks.Trailer().Get("ratelimit"); len(got) != 1 || !strings.HasPrefix(got[0], `"ip";r=299;`) {
		t.Errorf("trailer ratelimit is %q", got)
	}
}

func infrastructure(t *testing.T, binary string) {
	conn := dial(t, binary, "-policy", policy(t, "levels:\n  - {name: ip, limit: 1/day}\n"))
	for range 3 {
		answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health: %v, %v", answer, err)
		}
	}
	info, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = info.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "tierlimit.example.v1.Items"}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := info.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, raw := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(raw, file); err != nil {
			t.Fatal(err)
		}
		for _, m := range file.GetService()[0].GetMethod() {
			methods = append(methods, m.GetName())
		}
	}
	if !slices.Equal(methods, []string{"Get", "Login", "Watch"}) {
		t.Errorf("reflection tells methods %v", methods)
	}
	client := itemspb.NewItemsClient(conn)
	for i, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		if _, err := client.Get(t.Context(), &itemspb.GetRequest{}); status.Code(err) != want {
			t.Errorf("call %d: %v, want %v", i, err, want)
		}
	}
}

// outage calls the program all the time while Redis is hit and healed.
func outage(t *testing.T, binary string, hit, heal func(*redistest.Server)) {
	server := redistest.Start(t)
	wide := policy(t, "name: shop\nlevels:\n  - {name: ip, limit: 1000000/min}\n  - {name: endpoint, limit: 1000000/s}\n")
	client := itemspb.NewItemsClient(dial(t, binary, "-redis", server.URL(), "-policy", wide))
	get := func() string {
		item, err := client.Get(t.Context(), &itemspb.GetRequest{Id: "7"})
		return fmt.Sprint(status.Code(err), " ", item.GetDecided())
	}
	if first := get(); first != "OK shared" {
		t.Fatalf("the first answer is %s", first)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{}
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				a := get()
				mu.Lock()
				answers[a]++
				mu.Unlock()
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	hit(server)
	time.Sleep(1500 * time.Millisecond)
	heal(server)
	begun := time.Now()
	for get() != "OK shared" && time.Since(begun) < 3*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if back := time.Since(begun); back >= 3*time.Second {
		t.Errorf("decisions are not shared again after %v", back)
	}
	close(stop)
	wg.Wait()
	t.Log(answers)
	for a := range answers {
		if !strings.HasPrefix(a, "OK ") {
			t.Errorf("answered %s", a)
		}
	}
	if answers["OK local"] < 100 {
		t.Errorf("%d local decisions during the outage", answers["OK local"])
	}
}
