package shaper_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/shaper"
)

func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	q, err := shaper.New(rdb, "mail", core.PerSecond(50), shaper.WithBacklog(100_000))
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()

	// Any process adds.
	ctx := context.Background()
	switch id, err := q.Add(ctx, []byte("welcome ann@example.com")); {
	case errors.Is(err, shaper.ErrFull):
		fmt.Println("try again later")
	case err != nil:
		fmt.Println("Redis did not answer, so it may have been added or not:", err)
	default:
		fmt.Println("added", id)
	}

	// Any process works, as many of them as it takes: all together start 50 jobs a second.
	working, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	err = q.Work(working, func(ctx context.Context, j shaper.Job) error {
		return send(ctx, string(j.Payload)) // an error or a panic: tried again later
	})
	if err != nil {
		log.Print(err)
	}
}

// send may see a job again: at least once is what a queue can promise.
func send(context.Context, string) error { return nil }
