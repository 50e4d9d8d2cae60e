//go:build !race

package faultmatrix_test

const raceEnabled = false
