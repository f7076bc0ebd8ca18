package rsp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"github.com/jalon-trace/jalon/internal/openfile"
)

// Listener waits for GDB where the user said. One client is served at a time: the
// next Accept follows the end of the last connection, and a client that comes
// earlier waits in the system's queue, so that a GDB that disconnects and connects
// again is never turned away.
type Listener struct {
	net  net.Listener       // nil: standard input and output
	pipe io.ReadWriteCloser // nil once it has been accepted
	name string
	// Refused, if not nil, gets the reason for which a connection was refused.
	Refused func(error)
}

// Listen understands what gdbserver's users write:
//
//	:1234          TCP on the loopback interface (gdbserver: on all of them)
//	HOST:1234      TCP on that host's address; *:1234 on all
//	tcp:HOST:1234  the same; tcp4: and tcp6: choose the version
//	unix:PATH      a unix socket with mode 0600; a PATH with a slash means it too
//	- or stdio     standard input and output, for `target remote | jalon gdbserver -`
//
// Port 0 takes any free port; Addr says which.
func Listen(place string) (*Listener, error) {
	switch kind, rest := classify(place); kind {
	case "stdio":
		return &Listener{pipe: stdio{}, name: "standard input and output"}, nil
	case "unix":
		return listenUnix(rest)
	case "tcp", "tcp4", "tcp6":
		return listenTCP(kind, rest)
	}
	return nil, fmt.Errorf("listen on %q: that is no place to listen on; use :PORT, HOST:PORT, unix:PATH or - (standard input and output)", place)
}

// classify returns the kind of an address to listen at; "" if unknown.
func classify(place string) (kind, rest string) {
	if place == "-" || place == "stdio" {
		return "stdio", ""
	}
	if head, tail, ok := strings.Cut(place, ":"); ok {
		switch head {
		case "tcp", "tcp4", "tcp6", "unix":
			return head, tail
		case "udp", "udp4", "udp6":
			return "", ""
		}
	}
	if strings.Contains(place, "/") {
		return "unix", place
	}
	if strings.Contains(place, ":") {
		return "tcp", place
	}
	return "", ""
}

func listenTCP(network, place string) (*Listener, error) {
	host, port, err := splitPlace(place)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", place, err)
	}
	switch host {
	case "":
		host = "127.0.0.1"
		if network == "tcp6" {
			host = "::1"
		}
	case "*":
		host = ""
	}
	l, err := net.Listen(network, net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listen for GDB on %s: %w%s", place, err, remedy(err))
	}
	return &Listener{net: l, name: l.Addr().String()}, nil
}

// splitPlace cuts a place at its last colon: gdbserver takes IPv6 addresses without
// brackets, too. A host with other colons is no name that could be looked up.
func splitPlace(place string) (host, port string, err error) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return "", "", errors.New("no port after the host")
	}
	host, port = place[:i], place[i+1:]
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if strings.ContainsRune(host, ':') {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", "", &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
	}
	return host, port, nil
}

func listenUnix(path string) (*Listener, error) {
	if path == "" {
		return nil, errors.New("listen on a unix socket: no path after unix:")
	}
	l, err := openfile.ListenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("listen for GDB on the unix socket %s: %w%s", path, err, remedy(err))
	}
	return &Listener{net: l, name: path}, nil
}

// remedy returns a remedy for the usual failures.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; choose another port, or :0 for any free one"
	case errors.Is(err, syscall.EACCES):
		return "; ports below 1024 and the directories of others need rights, choose another place"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; no interface of this machine has that address"
	}
	return ""
}

// Addr is the place in words that GDB's `target remote` understands.
func (l *Listener) Addr() string { return l.name }

// Accept waits for a client. Standard input and output are accepted once; io.EOF means that there will be no
// other. Programs of other users on this machine are refused.
func (l *Listener) Accept() (io.ReadWriteCloser, error) {
	if l.net == nil {
		if l.pipe == nil {
			return nil, io.EOF
		}
		p := l.pipe
		l.pipe = nil
		return p, nil
	}
	for {
		c, err := l.net.Accept()
		if err != nil {
			return nil, fmt.Errorf("wait for GDB on %s: %w", l.name, err)
		}
		if err = checkPeer(c); err == nil {
			return c, nil
		}
		_ = c.Close() // nothing was written to it
		if l.Refused != nil {
			l.Refused(err)
		}
	}
}

// Exposed describes the programs that may connect beside those of this user and root;
// "": none.
func (l *Listener) Exposed() string {
	if l.net == nil {
		return ""
	}
	a, ok := l.net.Addr().(*net.TCPAddr)
	if !ok || a.IP.IsLoopback() {
		return ""
	}
	return "every program on every machine that reaches " + a.String()
}

// Close ends Accept, with net.ErrClosed, and removes a unix socket.
func (l *Listener) Close() error {
	if l.net == nil {
		return nil
	}
	return l.net.Close()
}

// stdio is the stream of `target remote | ...`.
type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }
