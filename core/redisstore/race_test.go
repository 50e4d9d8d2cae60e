//go:build race

package redisstore_test

// raceEnabled: the race detector makes everything slow, so that figures mean nothing.
const raceEnabled = true
