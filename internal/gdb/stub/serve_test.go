package stub

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// streams is a Listener that has a number of connections and no more.
type streams chan io.ReadWriteCloser

func (s streams) Accept() (io.ReadWriteCloser, error) {
	c, ok := <-s
	if !ok {
		return nil, io.EOF
	}
	return c, nil
}

// client is GDB's side of a connection.
type client struct {
	t    *testing.T
	conn *rsp.Conn
}

func dial(t *testing.T, to streams) *client {
	ours, theirs := net.Pipe()
	to <- theirs
	return &client{t, rsp.NewConn(ours, rsp.LinkConfig{Client: true})}
}

// next is the next packet or notification; "" when the connection has ended.
func (c *client) next() string {
	c.t.Helper()
	select {
	case e := <-c.conn.Events():
		if e.Kind == rsp.EventNotification {
			return short("%" + string(e.Payload))
		}
		return short(string(e.Payload))
	case <-time.After(5 * time.Minute):
		c.t.Fatal("no answer")
		return ""
	}
}

func (c *client) ask(packet, want string) {
	c.t.Helper()
	if err := c.conn.Send([]byte(packet)); err != nil {
		c.t.Fatal(err)
	}
	if got := c.next(); got != want {
		c.t.Fatalf("%q gets %q, want %q", packet, got, want)
	}
}

// TestServe: connections come and go; stops arrive whenever they do; the end of all
// connections is the end.
func TestServe(t *testing.T) {
	f := newFake(Caps{})
	pid := f.start(1)
	e := &fakeExperiment{size: f.desc.Size, frame: -1}
	m := New(f, e, Config{First: []Stop{{Kind: StopHalted, Thread: ThreadID{pid, pid}}}})
	l := make(streams, 1)
	done := make(chan error, 1)
	go func() {
		_, err := Serve(context.Background(), l, f, m)
		done <- err
	}()

	c := dial(t, l)
	c.ask("?", "T05[64]")
	c.ask("QStartNoAckMode", "OK")
	c.conn.StartNoAck()
	c.ask("QNonStop:1", "OK")
	c.ask("vCont;c", "OK")
	f.events <- Stop{Kind: StopSignal, Thread: ThreadID{pid, pid}, Signal: 10}
	if got := c.next(); got != "%Stop:T1e[64]" {
		t.Errorf("the notification is %q", got)
	}
	c.ask("vStopped", "OK")
	c.conn.Close()

	c = dial(t, l)
	c.ask("?", "T1e[64]") // with acknowledgements again
	if err := c.conn.Send([]byte("vCont;c")); err != nil {
		t.Fatal(err)
	}
	if err := c.conn.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if got := c.next(); got != "T02[64]" {
		t.Errorf("the interrupt is answered by %q", got)
	}
	close(l)
	c.conn.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("Serve continues without a client")
	}
}

// TestServeEnds: by the context, by the listener, by the Machine.
func TestServeEnds(t *testing.T) {
	start := func() (*fake, *Machine) {
		f := newFake(Caps{})
		f.start(1)
		return f, New(f, &fakeExperiment{size: f.desc.Size, frame: -1}, Config{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f, m := start()
	l := make(streams)
	if _, err := Serve(ctx, l, f, m); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	close(l)

	f, m = start()
	broken := errors.New("broken")
	if _, err := Serve(context.Background(), failing{broken}, f, m); !errors.Is(err, broken) {
		t.Errorf("a listener that fails: %v", err)
	}

	f, m = start()
	l = make(streams, 1)
	defer close(l)
	c := dial(t, l)
	if err := c.conn.Send([]byte("D;64")); err != nil {
		t.Fatal(err)
	}
	if status, err := Serve(context.Background(), l, f, m); status != 0 || err != nil {
		t.Errorf("after the detach: %d, %v", status, err)
	}
}

type failing struct{ err error }

func (f failing) Accept() (io.ReadWriteCloser, error) { return nil, f.err }
