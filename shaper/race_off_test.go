//go:build !race

package shaper_test

const raceEnabled = false
