package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// witness sees the status that a handler writes. It can flush, hijack and read from a file exactly
// if the writer it stands before can: handlers ask for these, and act on the answer.
type witness struct {
	http.ResponseWriter
	status int
	wrote  bool
}

// WriteHeader notes the first final status.
func (w *witness) WriteHeader(status int) {
	if !w.wrote && status >= http.StatusOK {
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *witness) Write(b []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *witness) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type (
	flusher  struct{ *witness }
	hijacker struct{ *witness }
	reader   struct{ *witness }
)

func (w flusher) Flush() {
	w.wrote = true
	w.ResponseWriter.(http.Flusher).Flush()
}

func (w hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && !w.wrote {
		w.status, w.wrote = http.StatusSwitchingProtocols, true
	}
	return conn, buf, err
}

func (w reader) ReadFrom(src io.Reader) (int64, error) {
	w.wrote = true
	return w.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
}

// as gives the witness the abilities of its writer.
func (w *witness) as() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	_, reads := w.ResponseWriter.(io.ReaderFrom)
	f, h, r := flusher{w}, hijacker{w}, reader{w}
	type base interface {
		http.ResponseWriter
		Unwrap() http.ResponseWriter
	}
	switch {
	case flushes && hijacks && reads:
		return struct {
			base
			http.Flusher
			http.Hijacker
			io.ReaderFrom
		}{w, f, h, r}
	case flushes && hijacks:
		return struct {
			base
			http.Flusher
			http.Hijacker
		}{w, f, h}
	case flushes && reads:
		return struct {
			base
			http.Flusher
			io.ReaderFrom
		}{w, f, r}
	case hijacks && reads:
		return struct {
			base
			http.Hijacker
			io.ReaderFrom
		}{w, h, r}
	case flushes:
		return struct {
			base
			http.Flusher
		}{w, f}
	case hijacks:
		return struct {
			base
			http.Hijacker
		}{w, h}
	case reads:
		return struct {
			base
			io.ReaderFrom
		}{w, r}
	}
	return w
}
