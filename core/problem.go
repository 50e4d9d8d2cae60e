package core

import "strconv"

// The problem types of draft-ietf-httpapi-ratelimit-headers-11 section 5.
const (
	problemTypes    = "https://iana.org/assignments/http-problem-types#"
	quotaExceeded   = "quota-exceeded"
	reducedCapacity = "temporary-reduced-capacity"
	abnormalUsage   = "abnormal-usage-detected"
)

// ProblemType is the media type of Problem (RFC 9457).
const ProblemType = "application/problem+json"

// Problem is the body of a refusal: problem details (RFC 9457) with the policies that were
// violated. It is nil for an allowed decision.
func (d Decision) Problem() []byte {
	if d.Allowed {
		return nil
	}
	kind, title, detail := problemTypes+quotaExceeded, "Request cannot be satisfied as assigned quota has been exceeded", ""
	switch d.Reason {
	case StoreFailed:
		kind, title = problemTypes+reducedCapacity, "Request cannot be satisfied due to temporary server capacity constraints"
	case Banned:
		kind, title = problemTypes+abnormalUsage, "Request not satisfied due to detection of abnormal request pattern"
	case Never:
		detail = "The request costs more than the policy ever admits; waiting does not help."
	case Listed:
		kind, title, detail = "about:blank", "Forbidden", "The request is on a deny list; waiting does not help."
	case Invalid:
		kind, title, detail = "about:blank", "Too Many Requests", "The cost of the request is not valid."
	}
	// Written by hand, because refusals are what a flood is answered with. Nothing in it needs to
	// be escaped: the names are those of limiters and levels.
	b := append(make([]byte, 0, 320), `{"type":"`...)
	b = append(append(append(b, kind...), `","title":"`...), title...)
	b = strconv.AppendInt(append(b, `","status":`...), int64(d.Status()), 10)
	if detail != "" {
		b = append(append(append(b, `,"detail":"`...), detail...), '"')
	}
	return append(d.appendViolated(b), '}')
}

func (d *Decision) appendViolated(b []byte) []byte {
	a := d.account
	if a == nil {
		return b
	}
	n := 0
	for i := range a.shown {
		banned := d.Reason == Banned && a.buckets[i].Level == d.Level
		if a.buckets[i].Shadow || (a.rank(i) < rankDenied && !banned) {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"violated-policies":["`...)
		} else {
			b = append(b, `,"`...)
		}
		if a.earlier != nil {
			b = append(append(b, a.table.name...), ':')
		}
		b = append(append(b, a.shown[i].name...), '"')
	}
	if n > 0 {
		b = append(b, ']')
	}
	return b
}
