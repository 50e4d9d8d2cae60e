package service

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"
)

// Main runs an example: build makes its server from the service.
func Main(name string, build func(*Service) Server) {
	log.SetFlags(0)
	if err := run(name, ParseFlags(), build); err != nil {
		log.Fatal(name, ": ", err)
	}
}

// Server is what listens; *http.Server is one.
type Server interface {
	Serve(net.Listener) error
	Close() error
}

// HTTP serves a handler.
func HTTP(h http.Handler) Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
}

func run(name string, f Flags, build func(*Service) Server) error {
	s, err := Open(f)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", f.Addr)
	if err != nil {
		return err
	}
	server := build(s)
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Printf("%s: ready on %s, store: %s\n", name, listener.Addr(), s.Store())
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
