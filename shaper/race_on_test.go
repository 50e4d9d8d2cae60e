//go:build race

package shaper_test

// raceEnabled: the race detector makes everything slow, so that rates mean little.
const raceEnabled = true
