package core

import "reflect"

// reading is how a level's key is found. What the built-in functions read is read without calling
// them: an unknown function needs its Request on the heap and its key in a string.
type reading uint8

const (
	callsKey reading = iota
	readsAddress
	readsUser
	readsEndpoint
	readsAll
	readsNothing
)

func addressOf(r *Request) (string, bool) {
	if !r.IP.IsValid() {
		return "", false
	}
	return r.IP.String(), true
}

func userOf(r *Request) (string, bool)     { return r.User, r.User != "" }
func endpointOf(r *Request) (string, bool) { return r.Endpoint, r.Endpoint != "" }
func everybody(*Request) (string, bool)    { return all, true }

// all is the one key of Global.
const all = "all"

// readingOf asks the function itself and not the constructor of its level: whoever made the level
// may have given it another Key since. Functions that capture nothing differ in their code.
func readingOf(key func(*Request) (string, bool)) reading {
	switch reflect.ValueOf(key).Pointer() {
	case reflect.ValueOf(addressOf).Pointer():
		return readsAddress
	case reflect.ValueOf(userOf).Pointer():
		return readsUser
	case reflect.ValueOf(endpointOf).Pointer():
		return readsEndpoint
	case reflect.ValueOf(everybody).Pointer():
		return readsAll
	case reflect.ValueOf(Provided).Pointer():
		return readsNothing
	}
	return callsKey
}
