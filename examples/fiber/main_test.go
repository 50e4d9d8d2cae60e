package main

import (
	"testing"

	"github.com/tierlimit/tierlimit/examples/internal/processtest"
)

func TestAsAProcess(t *testing.T) { processtest.Run(t, "fiber") }
