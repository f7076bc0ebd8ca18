package rsp

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// talk connects to l as GDB would and checks that bytes go both ways.
func talk(t *testing.T, l *Listener, network, addr string) {
	t.Helper()
	client, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	stub := NewConn(stream, LinkConfig{})
	defer stub.Close()
	gdb := NewConn(client, LinkConfig{Client: true})
	defer gdb.Close()
	if err := gdb.Send([]byte("?")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, stub); string(e.Payload) != "?" {
		t.Fatalf("%v", e)
	}
	if err := stub.Send([]byte("S05")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, gdb); string(e.Payload) != "S05" {
		t.Fatalf("%v", e)
	}
}

// TestListenLoopback: without a host only local clients can connect, one after the other.
func TestListenLoopback(t *testing.T) {
	for _, place := range []string{":0", "localhost:0", "tcp:127.0.0.1:0", "tcp4::0"} {
		l, err := Listen(place)
		if err != nil {
			t.Fatal(err)
		}
		if host, _, _ := net.SplitHostPort(l.Addr()); host != "127.0.0.1" {
			t.Errorf("%s listens on %s", place, l.Addr())
		}
		talk(t, l, "tcp", l.Addr())
		talk(t, l, "tcp", l.Addr())
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	for _, place := range []string{"[::1]:0", "::1:0", "tcp6:::1:0", "tcp6::0"} {
		l, err := Listen(place)
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			continue // a machine without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		if host, _, _ := net.SplitHostPort(l.Addr()); host != "::1" {
			t.Errorf("%s listens on %s", place, l.Addr())
		}
		l.Close()
	}
	l, err := Listen("*:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if host, _, _ := net.SplitHostPort(l.Addr()); host != "::" && host != "0.0.0.0" {
		t.Errorf("*:0 listens on %s", l.Addr())
	}
}

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gdb.sock")
	for _, place := range []string{"unix:" + path, path} {
		l, err := Listen(place)
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm()&^0o600 != 0 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		talk(t, l, "unix", path)
		if _, err := Listen(place); err == nil || !strings.Contains(err.Error(), "another program listens") {
			t.Errorf("twice: %v", err)
		}
		l.Close()
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket stays: %v", err)
		}
	}
	// A socket left by a server that was killed is taken over.
	dead, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	// A file is not.
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("over a file: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file is now %q", b)
	}
}

// TestListenErrors: what is wrong, and what to do.
func TestListenErrors(t *testing.T) {
	first, err := Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for _, e := range []struct{ place, want string }{
		{"1234", "use :PORT"},
		{"udp::1234", "use :PORT"},
		{"", "use :PORT"},
		{":notaport", "notaport"},
		{":99999", "99999"},
		{first.Addr(), "another port"},
		{"unix:", "no path"},
		{"tcp8:123:0", "no such host"},
		{"udp123::::0", "no such host"},
		{"203.0.113.1:0", "no interface"},
		{"/nonexistent/dir/sock", "/nonexistent/dir/sock"},
	} {
		l, err := Listen(e.place)
		if err == nil {
			l.Close()
			t.Errorf("%q: no error", e.place)
		} else if !strings.Contains(err.Error(), e.want) {
			t.Errorf("%q: %v", e.place, err)
		}
	}
}

// TestListenStdio: one client and no other.
func TestListenStdio(t *testing.T) {
	for _, place := range []string{"-", "stdio"} {
		l, err := Listen(place)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Accept(); err != nil {
			t.Error(err)
		}
		if _, err := l.Accept(); err != io.EOF {
			t.Errorf("a second: %v", err)
		}
	}
}
