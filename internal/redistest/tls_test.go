package redistest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestTLSWantsTheCertificateAndThePassword(t *testing.T) {
	s := redistest.NewTLS(t).Start()

	opt, err := redis.ParseURL(s.URL())
	if err != nil || opt.Username != redistest.User || opt.Password != redistest.Password {
		t.Fatalf("%s: user %q, password %q, %v", s.URL(), opt.Username, opt.Password, err)
	}

	trusting := s.Options().TLSConfig

	for want, change := range map[string]func(*redis.Options){
		"":               func(*redis.Options) {},
		"x509":           func(o *redis.Options) { o.TLSConfig = opt.TLSConfig },
		"WRONGPASS":      func(o *redis.Options) { o.Password += "x" },
		"NOAUTH":         func(o *redis.Options) { o.Username, o.Password = "", "" },
		"EOF|reset|pipe": func(o *redis.Options) { o.TLSConfig = nil },
	} {
		o := s.Options()
		o.TLSConfig, o.MaxRetries, o.DialerRetries = trusting, -1, 1
		change(o)

		client := redis.NewClient(o)
		err := client.Incr(context.Background(), "n").Err()
		_ = client.Close()

		if !anyOf(want, err) {
			t.Errorf("error %v, want %q", err, want)
		}
	}

	s.Restart()
	incr(t, s.Client(t), 1)
}

func anyOf(words string, err error) bool {
	if words == "" || err == nil {
		return words == "" && err == nil
	}

	for word := range strings.SplitSeq(words, "|") {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}

	return false
}

func TestTLSPrimaries(t *testing.T) {
	c := redistest.NewTLS(t).StartPrimaries(3)
	client := c.Client(t)

	for i := range 300 {
		if err := client.Set(context.Background(), fmt.Sprintf("key-%d", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}

	for _, node := range c.Nodes() {
		if node.Do(t, "DBSIZE") == int64(0) {
			t.Errorf("%s got none of 300 keys", node.Addr())
		}
	}
}

func TestTLSSentinel(t *testing.T) {
	s := redistest.NewTLS(t).StartSentinel()
	client := s.Client(t)
	replica := s.Replica()

	incr(t, client, 1)
	s.Failover(t)
	writesOn(t, client, replica)
}
