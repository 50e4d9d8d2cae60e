// Package adaptertest is the suite that every HTTP adapter runs: one table of cases, over a real
// listener and with a real client, so that the same conversation gets the same bytes from every
// framework.
//
// An adapter's test says how its framework builds a Service and how its options are called, and
// hands both to Run:
//
//	func TestAdapter(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Adapter{Name: "ginlimit", Build: build})
//	}
//
// Cases speak of a framework's request only as a Call, which for frameworks over net/http is an
// HTTPCall and a few lines; of its middleware as a Mount; of its options as the types in this
// package that are named like them, which a Dialect turns into the adapter's own.
//
// What a framework cannot do goes into Adapter.Lacks with the reason, which the skipped cases show.
package adaptertest
