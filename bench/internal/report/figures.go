package report

import (
	"fmt"
	"strconv"
	"strings"
)

// count shortens to three digits: 44.2 k, 1.25 M.
func count(v float64) string {
	switch {
	case v >= 1e6:
		return digits(v/1e6) + " M"
	case v >= 1e3:
		return digits(v/1e3) + " k"
	}
	return digits(v)
}

// digits keeps three that mean something, and no more than two after the point.
func digits(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// micros writes microseconds.
func micros(v float64) string {
	if v >= 1000 {
		return digits(v/1000) + " ms"
	}
	return digits(v) + " us"
}

// short is for the marks of an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + " M"
	case v >= 1e3:
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + " k"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// mark shortens a number in a name.
func mark(number string) string {
	if v, err := strconv.ParseFloat(number, 64); err == nil {
		return short(v)
	}
	return number
}

func nanos(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

func ratio(v float64) string { return digits(v) + "x" }

// share is a part of all in percent; nothing at all stays empty, so that the rest is seen.
func share(v float64) string {
	if v < 0.00005 {
		return ""
	}
	return digits(v*100) + " %"
}

var words = map[string]string{
	"levels": "%s levels", "traffic": "%s traffic", "keys": "%s keys", "goroutines": "%s goroutines",
	"connections": "%s connections", "replicas": "%s replicas", "limits": "%s limits",
}

// inWords makes a heading of a scenario's name.
func inWords(scenario string) string {
	var parts []string
	for part := range strings.SplitSeq(scenario, "/") {
		name, value, ok := strings.Cut(part, "=")
		if format := words[name]; ok && format != "" {
			part = fmt.Sprintf(format, mark(value))
			if value == "1" {
				part = strings.TrimSuffix(part, "s")
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
