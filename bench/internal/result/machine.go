package result

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/load"
)

// Machine is what the figures were measured on.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
	Redis string `json:"redis"`
}

// ThisMachine reads what it can find out. server may be nil.
func ThisMachine(ctx context.Context, server *load.Server) Machine {
	m := Machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), OS: runtime.GOOS, Go: runtime.Version()}
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere the architecture has to do
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	if server != nil {
		m.Redis, _ = server.Version(ctx) // only named, never needed
	}
	return m
}

func (m Machine) String() string {
	s := fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.OS, m.Go)
	if m.Redis != "" {
		s += ", Redis " + m.Redis
	}
	return s
}
