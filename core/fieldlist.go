package core

import (
	"strconv"
	"time"
)

// fieldList is response headers whose values are written behind each other, so that they become
// one string. Its methods return it, as append does: changed through a pointer, its buffers could
// not be the caller's stack.
type fieldList struct {
	text   []byte
	fields []field
}

// field is a header whose value ends at an offset of the text, and begins where the one before ends.
type field struct {
	name string
	end  int
}

func (l fieldList) end(name string) fieldList {
	l.fields = append(l.fields, field{name, len(l.text)})
	return l
}

func (l fieldList) number(name string, n int64) fieldList {
	l.text = strconv.AppendInt(l.text, n, 10)
	return l.end(name)
}

func (l fieldList) each(yield func(name, value string) bool) {
	values, start := string(l.text), 0
	for _, f := range l.fields {
		if !yield(f.name, values[start:f.end]) {
			return
		}
		start = f.end
	}
}

// add writes the headers of one format for the items, of which there is at least one. RFC 9651
// lists join with ", " and parameters with ";" alone.
func (l fieldList) add(f HeaderFormat, items []headerItem, now time.Time) fieldList {
	names, tight := fieldNames[f], tightest(items)
	switch f {
	case RateLimit:
		return l.policies(items).end(names[0]).limits(items).end(names[1])
	case RateLimitDraft07:
		return l.barePolicies(items).end(names[0]).dictionary(tight).end(names[1])
	case RateLimitDraft06:
		l, names = l.barePolicies(items).end(names[0]), names[1:]
	}
	reset := tight.reset()
	if f == XRateLimitEpoch {
		reset = tight.resetAt(now)
	}
	return l.number(names[0], tight.limit.Quota).number(names[1], tight.left()).number(names[2], reset)
}

func (l fieldList) policies(items []headerItem) fieldList {
	for n, i := range items {
		l.text = i.appendNamed(appendComma(l.text, n), i.limit.item.whole)
	}
	return l
}

func (l fieldList) limits(items []headerItem) fieldList {
	for n, i := range items {
		b := i.appendNamed(appendComma(l.text, n), i.limit.item.name)
		b = strconv.AppendInt(append(b, ";r="...), i.left(), 10)
		l.text = strconv.AppendInt(append(b, ";t="...), i.reset(), 10)
	}
	return l
}

func (l fieldList) barePolicies(items []headerItem) fieldList {
	for n, i := range items {
		l.text = append(appendComma(l.text, n), i.limit.item.bare...)
	}
	return l
}

func (l fieldList) dictionary(i headerItem) fieldList {
	b := strconv.AppendInt(append(l.text, "limit="...), i.limit.Quota, 10)
	b = strconv.AppendInt(append(b, ", remaining="...), i.left(), 10)
	l.text = strconv.AppendInt(append(b, ", reset="...), i.reset(), 10)
	return l
}

// appendComma separates member n of a list from the one before.
func appendComma(b []byte, n int) []byte {
	if n > 0 {
		b = append(b, ", "...)
	}
	return b
}
