package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// replica is a process of the service.
type replica struct {
	cmd *exec.Cmd
	url string
}

// startReplica returns when the replica listens. From then on t is told of its changes.
func startReplica(socket string, limit int64, t *timeline) (*replica, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-serve", socket, "-limit", fmt.Sprint(limit))
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, dieWithParent()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &replica{cmd: cmd}
	messages := json.NewDecoder(stdout)
	var first message
	if err := messages.Decode(&first); err != nil {
		r.kill()
		return nil, fmt.Errorf("a replica did not start: %w", err)
	}
	r.url = first.URL
	go watch(messages, t)
	return r, nil
}

// watch reads to the end of the replica. One that ends early shows in requests without an answer.
func watch(messages *json.Decoder, t *timeline) {
	for {
		var m message
		if err := messages.Decode(&m); err != nil {
			return
		}
		what := shared
		if m.Local {
			what = local
		}
		t.note(what)
	}
}

func (r *replica) pid() int { return r.cmd.Process.Pid }

func (r *replica) kill() {
	_ = r.cmd.Process.Kill() // fails only when it is gone already
	_ = r.cmd.Wait()         // says that it was killed
}
