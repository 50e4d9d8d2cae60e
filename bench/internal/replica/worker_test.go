package replica_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
	"github.com/tierlimit/tierlimit/bench/internal/load"
	"github.com/tierlimit/tierlimit/bench/internal/replica"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestWorkerAnswersItsOrder(t *testing.T) {
	order, err := json.Marshal(replica.Order{
		Engine: engine.Tierlimit, Addr: redistest.Start(t).Addr(), Pool: 8,
		Scenario: load.Scenario{Levels: 3, Goroutines: 4, Keys: load.Uniform, Traffic: load.Busy},
		Time:     50 * time.Millisecond, At: time.Now().Add(50 * time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := replica.Work(t.Context(), bytes.NewReader(order), &out); err != nil {
		t.Fatal(err)
	}
	var answer struct{ Decisions, Errors int64 }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Decisions == 0 || answer.Errors > 0 {
		t.Errorf("%v, %+v", err, answer)
	}
}
