package adaptertest

import (
	"testing"

	"go.uber.org/goleak"
)

// group is the cases on one subject, by the sentence that each of them holds true.
type group map[string]func(*testing.T, *harness)

var groups = map[string]group{
	"answers":      answerCases,
	"denials":      denialCases,
	"construction": constructionCases,
	"cost":         costCases,
	"decision":     decisionCases,
	"delays":       delayCases,
	"endpoints":    endpointCases,
	"failures":     failureCases,
	"identity":     identityCases,
	"levels":       levelCases,
	"lists":        listCases,
	"bans":         banCases,
	"load":         loadCases,
	"proxies":      proxyCases,
	"queues":       queueCases,
	"refunds":      refundCases,
	"routes":       routeCases,
	"stacked":      stackedCases,
	"streams":      streamCases,
}

// lingering are goroutines that frameworks leave behind on purpose, no matter what is mounted:
// fasthttp's workers end up to 10 s after their server, its clock never.
var lingering = []string{
	"github.com/valyala/fasthttp.(*workerPool).Start.func2",
	"github.com/valyala/fasthttp.updateServerDate.func1",
}

// Run holds an adapter to every case, and to leaving no goroutine behind.
func Run(t *testing.T, a Adapter) {
	t.Helper()
	expected := []goleak.Option{goleak.IgnoreCurrent()}
	for _, function := range lingering {
		expected = append(expected, goleak.IgnoreAnyFunction(function))
	}
	t.Cleanup(func() { goleak.VerifyNone(t, expected...) })
	for feature, reason := range a.Lacks {
		if reason == "" {
			t.Errorf("%s lacks %q without a reason", a.Name, feature)
		}
	}
	for subject, cases := range groups {
		t.Run(subject, func(t *testing.T) {
			for name, run := range cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					run(t, newHarness(t, a))
				})
			}
		})
	}
}
