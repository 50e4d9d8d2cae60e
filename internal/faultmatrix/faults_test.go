package faultmatrix_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

// site is where a fault happens.
type site struct {
	t      *testing.T
	group  *group
	server *redistest.Server
	proxy  *redistest.Proxy // the service's way to it
}

// outage is how long the test lets a fault last.
const outage = 1500 * time.Millisecond

// fault is a way in which Redis, or the network before it, fails. begin returns once it does; end, once
// Redis can answer again.
type fault struct {
	name  string
	begin func(site) (end func())
	// failsOver: Sentinel and Cluster promote a replica, and nothing else ends the fault.
	failsOver bool
	// forgets: a server without a replica loses what it knew.
	forgets bool
	// no: the topology does not have this fault.
	no map[topology]bool
}

var faults = []fault{
	{name: "killed (SIGKILL)", failsOver: true, forgets: true, begin: func(s site) func() { s.server.Kill(); return s.server.Restart }},
	{name: "stopped (SIGSTOP)", failsOver: true, begin: func(s site) func() { s.server.Stop(); return s.server.Cont }},
	{name: "black hole", begin: func(s site) func() { s.proxy.SetMode(redistest.BlackHole); return s.proxy.Heal }},
	{name: "SYN hole", begin: func(s site) func() { s.proxy.SynHole(); s.proxy.CloseAll(); return s.proxy.Heal }},
	{name: "200 ms slower", begin: func(s site) func() { s.proxy.SetDelay(200 * time.Millisecond); return s.proxy.Heal }},
	{name: "half a reply, then a reset", begin: func(s site) func() { s.proxy.SetMode(redistest.HalfReply); return s.proxy.Heal }},
	{name: "READONLY", no: map[topology]bool{cluster: true}, begin: func(s site) func() {
		s.do("REPLICAOF", "127.0.0.1", "1")
		return func() { s.do("REPLICAOF", "NO", "ONE") }
	}},
	{name: "LOADING", begin: loading},
	{name: "OOM", begin: func(s site) func() {
		s.do("CONFIG", "SET", "maxmemory", "1")
		return func() { s.do("CONFIG", "SET", "maxmemory", "0") }
	}},
	{name: "MISCONF", begin: misconf},
	{name: "BUSY", begin: func(s site) func() {
		s.do("CONFIG", "SET", "busy-reply-threshold", "20")
		c := s.send("EVAL \"while true do end\" 0")
		time.Sleep(50 * time.Millisecond)
		return func() { s.do("SCRIPT", "KILL"); _ = c.Close() }
	}},
	{name: "NOPERM", begin: func(s site) func() {
		s.do("ACL", "SETUSER", "default", "-evalsha", "-eval")
		return func() { s.do("ACL", "SETUSER", "default", "+evalsha", "+eval") }
	}},
	{name: "maxclients", begin: maxclients},
	{name: "CLIENT PAUSE", begin: func(s site) func() {
		over := time.Now().Add(outage)
		s.do("CLIENT", "PAUSE", outage.Milliseconds(), "ALL") // it holds up UNPAUSE, too
		return func() { time.Sleep(time.Until(over)) }
	}},
}

// loading has the server read some 2 s of keys from its disk, as it would after a restart.
func loading(s site) func() {
	s.do("CONFIG", "SET", "loading-process-events-interval-bytes", "1024")
	s.do("DEBUG", "POPULATE", 2500)
	s.do("CONFIG", "SET", "key-load-delay", "700") // µs
	c := s.send("DEBUG RELOAD")
	s.until("loading", func() bool { return says(s.t, s.server, "persistence", "loading:1") })
	return func() {
		s.until("loaded", func() bool { return says(s.t, s.server, "persistence", "loading:0") })
		_ = c.Close()
		s.do("CONFIG", "SET", "key-load-delay", "0")
	}
}

// misconf lets no snapshot be saved: a directory has the name of the file.
func misconf(s site) func() {
	dir := s.do("CONFIG", "GET", "dir").([]any)[1].(string)
	file := filepath.Join(dir, "dump.rdb")
	_ = os.RemoveAll(file)
	if err := os.Mkdir(file, 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.do("CONFIG", "SET", "save", "3600 1")
	s.do("BGSAVE")
	s.until("failed save", func() bool { return says(s.t, s.server, "persistence", "rdb_last_bgsave_status:err") })
	return func() {
		s.do("CONFIG", "SET", "save", "")
		if err := os.Remove(file); err != nil {
			s.t.Error(err)
		}
	}
}

// maxclients leaves no room for the service's connections, which are cut. Others keep theirs.
func maxclients(s site) func() {
	c := s.send("CONFIG SET maxclients 1")
	s.read(c)
	s.proxy.CloseAll()
	return func() {
		fmt.Fprint(c, "CONFIG SET maxclients 10000\r\n")
		s.read(c)
		_ = c.Close()
	}
}

func (s site) do(args ...any) any { return s.server.Do(s.t, args...) }

// send is for commands that are answered late, or on a connection that is to stay.
func (s site) send(command string) net.Conn {
	c, err := net.Dial("tcp", s.server.Addr())
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprint(c, command+"\r\n")
	return c
}

func (s site) read(c net.Conn) {
	reply := make([]byte, len("+OK\r\n"))
	if _, err := io.ReadFull(c, reply); err != nil || string(reply) != "+OK\r\n" {
		s.t.Fatalf("reply %q, %v", reply, err)
	}
}

func (s site) until(what string, ok func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within 20 s", what)
		}
	}
}
