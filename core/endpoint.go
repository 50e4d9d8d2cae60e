package core

import (
	"fmt"
	"strings"
)

// normalizeEndpoint writes a route template in one spelling, so that one policy fits every
// framework: "/items/:id" is "/items/{id}", "/files/*path" is "/files/{path...}".
func normalizeEndpoint(endpoint string) string {
	if normal(endpoint) {
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

func normal(endpoint string) bool {
	return !strings.Contains(endpoint, "/:") && !strings.Contains(endpoint, "/*")
}

// validateEndpoint refuses what no request ever has as its endpoint: an override there would be
// silently off. A path may begin with a host, as net/http patterns do.
func validateEndpoint(endpoint string) error {
	method, path, spaced := strings.Cut(endpoint, " ")
	if spaced && validMethod(method) && strings.Contains(path, "/") {
		return nil
	}
	if parts := strings.Split(endpoint, "/"); !spaced && len(parts) == 3 && parts[0] == "" && parts[1] != "" && parts[2] != "" {
		return nil
	}
	return fmt.Errorf("endpoint is %q, want \"METHOD /path\", \"* /path\" for every method, or a gRPC full method such as \"/shop.v1.Items/Get\"", endpoint)
}

func validMethod(method string) bool {
	return method == "*" || (method != "" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == "")
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
