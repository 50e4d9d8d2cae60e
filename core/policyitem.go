package core

import (
	"strconv"
	"time"
)

// policyItem is what a limit is in RateLimit-Policy, the same in each response: it is written once,
// when the policy is compiled.
type policyItem struct {
	whole string // `"user";q=60;w=60`
	name  string // of it, `"user"`
	bare  string // of it, `60;w=60`, as older drafts have it
}

func newPolicyItem(name string, l Limit) policyItem {
	b := appendQuoted(nil, name)
	n := len(b)
	b = strconv.AppendInt(append(b, ";q="...), l.Quota, 10)
	if l.Period >= time.Second { // w is a positive integer of seconds: shorter windows have none
		b = strconv.AppendInt(append(b, ";w="...), seconds(l.Period), 10)
	}
	whole := string(b)
	return policyItem{whole, whole[:n], whole[n+len(";q="):]}
}

// appendQuoted writes an RFC 9651 string; names are printable ASCII by construction.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}
