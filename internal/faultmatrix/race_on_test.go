//go:build race

package faultmatrix_test

// The race detector slows everything down, so that a latency means nothing under it.
const raceEnabled = true
