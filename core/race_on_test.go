//go:build race

package core_test

// The race detector makes pools drop what they are given, so that a count of allocations means
// nothing under it.
const raceEnabled = true
