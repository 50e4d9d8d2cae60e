package main

import "syscall"

// dieWithParent is for the end that no deferred call sees, such as SIGKILL. The group keeps Ctrl-C
// from a child: Redis would be gone before the load is.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
