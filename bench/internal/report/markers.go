package report

import (
	"fmt"
	"strings"
)

const endMarker = "<!-- end -->"

func beginMarker(name string) string { return "<!-- table: " + name + " -->" }

// Fill puts each table between its marker and the end after it. What the document lacks a place
// for is an error: a table must not vanish.
func Fill(document string, tables map[string]string) (string, error) {
	for name, table := range tables {
		before, rest, ok := strings.Cut(document, beginMarker(name))
		if !ok {
			return "", fmt.Errorf("no %s", beginMarker(name))
		}
		old, after, ok := strings.Cut(rest, endMarker)
		if !ok || strings.Contains(old, "<!-- table:") {
			return "", fmt.Errorf("no %s after %s", endMarker, beginMarker(name))
		}
		document = before + beginMarker(name) + "\n\n" + strings.TrimSpace(table) + "\n\n" + endMarker + after
	}
	return document, nil
}
