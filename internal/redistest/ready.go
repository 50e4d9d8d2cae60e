package redistest

import (
	"fmt"
	"strings"
	"time"
)

// readyWait is several times what a group takes on two busy cores (3 to 6 s).
const readyWait = 30 * time.Second

// fields parses the name:value lines of INFO and CLUSTER INFO.
func fields(s *Server, command ...any) (map[string]string, error) {
	reply, err := s.ask(command...)
	if err != nil {
		return nil, err
	}

	found := map[string]string{}

	for line := range strings.SplitSeq(fmt.Sprint(reply), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			found[name] = value
		}
	}

	return found, nil
}

func replication(s *Server) (map[string]string, error) {
	return fields(s, "INFO", "replication")
}

// linked matters because a replica that never finished its first sync is not
// electable, and a group without an electable replica stays down for ever.
func linked(s *Server) error {
	info, err := replication(s)
	if err != nil {
		return err
	}

	if info["role"] != "slave" || info["master_link_status"] != "up" {
		return fmt.Errorf("%s: role %s, link %q", s.Addr(), info["role"], info["master_link_status"])
	}

	return nil
}

func (s *Sentinel) complete() error {
	for _, sentinel := range s.sentinels {
		info, err := fields(sentinel, "INFO", "sentinel")
		if err != nil {
			return err
		}

		state := info["master0"]
		if !strings.Contains(state, "status=ok") || !strings.HasSuffix(state, ",slaves=1,sentinels=3") {
			return fmt.Errorf("sentinel %s: %s", sentinel.Addr(), state)
		}
	}

	return nil
}
