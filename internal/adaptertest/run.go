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
	"load":         loadCases,
	"proxies":      proxyCases,
	"refunds":      refundCases,
	"routes":       routeCases,
	"stacked":      stackedCases,
	"streams":      streamCases,
}

// Run holds an adapter to every case, and to leaving no goroutine behind.
func Run(t *testing.T, a Adapter) {
	t.Helper()
	expected := []goleak.Option{goleak.IgnoreCurrent()}
	for _, function := range a.Lingers {
		expected = append(expected, goleak.IgnoreAnyFunction(function))
	}
	t.Cleanup(func() { goleak.VerifyNone(t, expected...) })
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
