package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// A running jalon can be asked through a Unix socket: jalon control, jalon snapshot. A request and its reply are one line of JSON
// each; any number of them can follow each other on a connection.

// maxRequest bounds the line of a request.
const maxRequest = 1 << 16

// requestServer replies to requests.
type requestServer struct {
	listener *net.UnixListener
	patience time.Duration             // from a reply to the next request
	admit    func(*net.UnixConn) error // an error refuses a client; nil admits all
	handle   func(line []byte) any
}

// serve replies to requests until close.
func (s *requestServer) serve() {
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		go s.talk(conn)
	}
}

// close removes the socket.
func (s *requestServer) close() { _ = s.listener.Close() }

// talk replies to the requests of one client.
func (s *requestServer) talk(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	if s.admit != nil && s.admit(conn) != nil {
		return
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, maxRequest), maxRequest)
	for {
		_ = conn.SetDeadline(time.Now().Add(s.patience))
		if !lines.Scan() || json.NewEncoder(conn).Encode(s.handle(lines.Bytes())) != nil {
			return
		}
	}
}

// requestClient sends requests to one socket.
type requestClient struct {
	socket   string
	what     string                    // listens there: "trace", "recording"
	patience time.Duration             // for the reply
	maxReply int64                     // bytes: another program may listen there
	admit    func(*net.UnixConn) error // an error refuses the server; nil admits all
}

// ask sends a request and stores the reply in a. Errors of connect(2) are in the chain.
func (c *requestClient) ask(q, a any) error {
	conn, err := net.DialTimeout("unix", c.socket, c.patience)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if c.admit != nil {
		if err := c.admit(conn.(*net.UnixConn)); err != nil {
			return fmt.Errorf("%s: %w", c.socket, err)
		}
	}
	if err := conn.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(q); err != nil {
		return fmt.Errorf("sending the request to %s: %w", c.socket, err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, c.maxReply)).ReadBytes('\n')
	switch {
	case err == nil:
	case int64(len(line)) == c.maxReply:
		return fmt.Errorf("the reply of %s is longer than %s: it is not from jalon", c.socket, bytesText(c.maxReply))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no reply from %s in %v", c.socket, c.patience)
	default:
		return fmt.Errorf("no reply from %s: the %s has ended", c.socket, c.what)
	}
	if err := json.Unmarshal(line, a); err != nil {
		return fmt.Errorf("cannot parse the reply of %s: %w", c.socket, err)
	}
	return nil
}
