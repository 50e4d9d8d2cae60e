package core

import (
	"errors"
	"fmt"
	"strings"
)

// normalizeEndpoint writes a route template in one spelling, so that one policy fits every
// framework: "/items/:id" is "/items/{id}", "/files/*path" is "/files/{path...}".
func normalizeEndpoint(endpoint string) string {
	if !strings.Contains(endpoint, "/:") && !strings.Contains(endpoint, "/*") {
		return endpoint
	}
	segments := strings.Split(endpoint, "/")
	for i, s := range segments {
		switch {
		case i == 0 || s == "":
		case s[0] == ':' && len(s) > 1:
			segments[i] = "{" + s[1:] + "}"
		case s[0] == '*':
			segments[i] = "{" + s[1:] + "...}"
		}
	}
	return strings.Join(segments, "/")
}

func validateEndpoint(endpoint string) error {
	if endpoint == "" {
		return errors.New("endpoint is empty, want \"METHOD /path\" or a gRPC full method")
	}
	if !strings.Contains(endpoint, "/") {
		return fmt.Errorf("endpoint is %q, want \"METHOD /path\" or a gRPC full method", endpoint)
	}
	return nil
}

// anyMethod gives the path of an endpoint that stands for every method, "* /path".
func anyMethod(endpoint string) (path string, ok bool) { return strings.CutPrefix(endpoint, "* ") }

// pathOf drops the method of "METHOD /path".
func pathOf(endpoint string) string {
	if _, path, ok := strings.Cut(endpoint, " "); ok {
		return path
	}
	return endpoint
}
