package rsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

var epoch = time.Unix(1000, 0)

// script drives a link through steps and compares what it writes and delivers.
func receive(l *Link, data string, at time.Time) (out, events string) {
	var got []string
	l.Receive([]byte(data), at, func(e Event) {
		switch e.Kind {
		case EventPacket:
			got = append(got, string(e.Payload))
		case EventInterrupt:
			got = append(got, "^C")
		case EventTooLong:
			got = append(got, "long")
		case EventNotification:
			got = append(got, "%"+string(e.Payload))
		}
	})
	return string(l.Out()), strings.Join(got, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestLinkAcks(t *testing.T) {
	l := NewLink(LinkConfig{PacketSize: 16})
	out, ev := receive(l, "+$qC#b4", epoch)
	expect(t, "a packet", out+" "+ev, "+ qC")

	_ = l.Send([]byte("QC1"), epoch)
	expect(t, "an answer", string(l.Out()), "$QC1#c5")
	_ = l.Send([]byte("O00"), epoch)
	expect(t, "a second before the ack", string(l.Out()), "")
	out, ev = receive(l, "-", epoch)
	expect(t, "again after a nak", out+ev, "$QC1#c5")
	out, ev = receive(l, "$qC#b4", epoch)
	expect(t, "the same packet again", out+" "+ev, "+$QC1#c5 ")
	out, _ = receive(l, "+", epoch)
	expect(t, "the second after the ack", out, "$O00#af")
	out, ev = receive(l, "$?#3f", epoch)
	expect(t, "a new packet acknowledges", out+" "+ev, "+ ?")
	if !l.Drained() || !l.Deadline().IsZero() {
		t.Error("something is still under way")
	}
	out, ev = receive(l, "$?#00", epoch)
	expect(t, "a bad packet", out+" "+ev, "- ")
	out, ev = receive(l, "$"+strings.Repeat("0", 32)+"#00", epoch)
	expect(t, "a packet too long", out+" "+ev, "+ long")
	out, ev = receive(l, "\x03", epoch)
	expect(t, "an interrupt", out+" "+ev, " ^C")

	_ = l.Send([]byte("OK"), epoch)
	l.Out()
	l.StartNoAck(epoch)
	out, ev = receive(l, "+$?#3f", epoch)
	expect(t, "without acks", out+" "+ev, " ?")
	out, ev = receive(l, "$?#00", epoch)
	expect(t, "a bad packet without acks", out+" "+ev, " ")
	_ = l.Send([]byte("OK"), epoch)
	_ = l.Send([]byte("OK"), epoch)
	expect(t, "two answers without acks", string(l.Out()), "$OK#9a$OK#9a")
}

func TestLinkTimeouts(t *testing.T) {
	l := NewLink(LinkConfig{Timeout: time.Second, Retries: 2})
	_ = l.Send([]byte("OK"), epoch)
	expect(t, "first", string(l.Out()), "$OK#9a")
	if at := l.Deadline(); at != epoch.Add(time.Second) {
		t.Errorf("deadline %v", at)
	}
	if err := l.Tick(epoch); err != nil || len(l.Out()) > 0 {
		t.Error("sent again before the time")
	}
	for i := 1; i <= 2; i++ {
		if err := l.Tick(epoch.Add(time.Duration(i) * time.Second)); err != nil {
			t.Fatal(err)
		}
		expect(t, "again", string(l.Out()), "$OK#9a")
	}
	if err := l.Tick(epoch.Add(3 * time.Second)); !errors.Is(err, ErrNoAck) {
		t.Errorf("after the last: %v", err)
	}

	l = NewLink(LinkConfig{Timeout: time.Second})
	receive(l, "$qSupp", epoch)
	if at := l.Deadline(); at != epoch.Add(time.Second) {
		t.Errorf("deadline of an unfinished packet: %v", at)
	}
	_ = l.Tick(epoch.Add(time.Second))
	expect(t, "an unfinished packet", string(l.Out()), "-")
	out, ev := receive(l, "orted#37$qC#b4", epoch)
	expect(t, "and what comes later", out+" "+ev, "+ qC")
}

func TestLinkQueueLimit(t *testing.T) {
	l := NewLink(LinkConfig{})
	var err error
	for i := 0; i < 2*maxUnsent/1000 && err == nil; i++ {
		err = l.Send([]byte(strings.Repeat("ab", 500)), epoch)
	}
	if !errors.Is(err, ErrNoAck) {
		t.Errorf("%v", err)
	}
}

// TestLinkLossy: two links exchange packets over a line that corrupts every second packet, and every reply
// matches its request. Acknowledgements are not lost, as on all lines that the protocol is used on: they have
// no numbers, so a late one could be taken for that of the next packet.
func TestLinkLossy(t *testing.T) {
	seed := uint64(testkit.Seed(t, 22))
	r := rand.New(rand.NewPCG(seed, seed))
	cfg := LinkConfig{Timeout: time.Second, Retries: 1000}
	stub := NewLink(cfg)
	cfg.Client = true
	gdb := NewLink(cfg)
	now := epoch
	spoiled := 0
	spoil := func(b []byte) []byte {
		start := bytes.IndexByte(b, packetStart)
		if end := bytes.IndexByte(b, frameEnd); end > start+1 && r.IntN(2) == 0 {
			b[start+1+r.IntN(end-start-1)] ^= 1
			spoiled++
		}
		return b
	}
	answered := 0
	for q := range 200 {
		question := fmt.Sprintf("m%x,4", q)
		_ = gdb.Send([]byte(question), now)
		for done := false; !done; {
			stub.Receive(spoil(gdb.Out()), now, func(e Event) {
				if e.Kind == EventPacket {
					_ = stub.Send([]byte("00000000"+string(e.Payload)), now)
				}
			})
			gdb.Receive(spoil(stub.Out()), now, func(e Event) {
				if e.Kind == EventPacket && string(e.Payload) == "00000000"+question {
					done = true
				}
			})
			now = now.Add(time.Second)
			if err := errors.Join(gdb.Tick(now), stub.Tick(now)); err != nil {
				t.Fatal(err)
			}
			if now.Sub(epoch) > 24*time.Hour {
				t.Fatalf("seed %d: no answer to %s", seed, question)
			}
		}
		answered++
	}
	if spoiled < answered/2 {
		t.Errorf("only %d packets were spoiled", spoiled)
	}
	t.Logf("%d answers, %d packets spoiled, seed %d", answered, spoiled, seed)
}

// next waits for an event.
func next(t *testing.T, c *Conn) Event {
	t.Helper()
	select {
	case e, ok := <-c.Events():
		if !ok {
			t.Fatal("no more events")
		}
		return e
	case <-time.After(5 * time.Minute):
		t.Fatal("no event within 10 s")
	}
	panic("BUG: unreachable")
}

func TestConn(t *testing.T) {
	a, b := net.Pipe()
	stub := NewConn(a, LinkConfig{})
	gdb := NewConn(b, LinkConfig{Client: true})
	for i, q := range []string{"qSupported:xmlRegisters=i386", "QStartNoAckMode", "?", "m0,4"} {
		if err := gdb.Send([]byte(q)); err != nil {
			t.Fatal(err)
		}
		e := next(t, stub)
		expect(t, "question", string(e.Payload), q)
		if i == 1 {
			stub.StartNoAck()
		}
		answer := strings.Repeat("0", i*10) + "OK"
		if err := stub.Send([]byte(answer)); err != nil {
			t.Fatal(err)
		}
		e = next(t, gdb)
		expect(t, "answer", string(e.Payload), answer)
		if i == 1 {
			gdb.StartNoAck()
		}
	}
	_ = gdb.Interrupt()
	if e := next(t, stub); e.Kind != EventInterrupt {
		t.Errorf("%v", e)
	}
	_ = stub.Notify(StopNotification(Stopped{Signal: 5}))
	if e := next(t, gdb); e.Kind != EventNotification || string(e.Payload) != "Stop:T05" {
		t.Errorf("%v", e)
	}
	gdb.Close()
	if e := next(t, stub); e.Kind != EventClosed || e.Err != nil {
		t.Errorf("%v", e)
	}
	stub.Close()
	if err := stub.Send([]byte("OK")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("send after the end: %v", err)
	}
}

// TestConnGivesUp: a client that acknowledges nothing ends the connection.
func TestConnGivesUp(t *testing.T) {
	a, b := net.Pipe()
	stub := NewConn(a, LinkConfig{Timeout: time.Millisecond, Retries: 3})
	defer stub.Close()
	sent := make(chan int)
	go func() {
		buf, n := make([]byte, 100), 0
		for {
			k, err := b.Read(buf)
			n += k
			if err != nil {
				sent <- n
				return
			}
		}
	}()
	_ = stub.Send([]byte("OK"))
	if e := next(t, stub); e.Kind != EventClosed || !errors.Is(e.Err, ErrNoAck) {
		t.Errorf("%v", e)
	}
	if n := <-sent; n != 4*len("$OK#9a") {
		t.Errorf("%d bytes were sent", n)
	}
}

// TestConnSlow: a sender does not wait for a peer that does not read. The peer finally receives everything;
// until then its packets are not read.
func TestConnSlow(t *testing.T) {
	a, b := net.Pipe()
	stub := NewConn(a, LinkConfig{})
	defer stub.Close()
	if _, err := b.Write([]byte("$?#3f")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, make([]byte, 1)); err != nil { // the acknowledgement
		t.Fatal(err)
	}
	if e := next(t, stub); string(e.Payload) != "?" {
		t.Errorf("%v", e)
	}
	stub.StartNoAck()
	long := strings.Repeat("01", 5000)
	for _, s := range []string{long, "OK"} { // the peer does not read yet
		if err := stub.Send([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	_ = b.SetWriteDeadline(time.Now().Add(5 * time.Minute))
	if _, err := b.Write([]byte("$g#67")); err != nil { // it is read from once more, at most
		t.Fatal(err)
	}
	select {
	case e := <-stub.Events():
		t.Errorf("%v from a side that does not read", e)
	default:
	}
	var got []byte
	buf := make([]byte, 512)
	for !bytes.HasSuffix(got, []byte("$OK#9a")) {
		n, err := b.Read(buf)
		if err != nil {
			t.Fatalf("%v behind %d bytes", err, len(got))
		}
		got = append(got, buf[:n]...)
	}
	if n := 2 * bytes.Count(got, []byte("01")); n < len(long) || !bytes.HasPrefix(got, []byte("$0")) {
		t.Errorf("%d of %d bytes, %.5q", n, len(long), got)
	}
	if e := next(t, stub); string(e.Payload) != "g" {
		t.Errorf("%v", e)
	}
}

// FuzzLink: no stream and no order of sends and timeouts brings a link down, makes it
// hold more than its limits, or stop hearing.
func FuzzLink(f *testing.F) {
	f.Add([]byte("+$qC#b4-\x03$?#00$OK#9a"), []byte{0, 1, 2, 3, 4, 5})
	f.Fuzz(func(t *testing.T, stream, steps []byte) {
		l := NewLink(LinkConfig{PacketSize: 32, Timeout: time.Second, Retries: 3})
		now := epoch
		for _, s := range steps {
			n := min(int(s>>3)+1, len(stream))
			switch s & 7 {
			case 0, 1, 2, 3:
				l.Receive(stream[:n], now, func(e Event) {
					if len(e.Payload) > 32 {
						t.Fatalf("a payload of %d bytes", len(e.Payload))
					}
				})
				stream = stream[n:]
			case 4, 5:
				_ = l.Send(stream[:n], now)
			case 6:
				now = now.Add(time.Second)
				_ = l.Tick(now)
			case 7:
				l.StartNoAck(now)
			}
			l.Out()
		}
		heard := 0
		l.Receive([]byte("$qXfer:auxv:read::0,40#??$vMustReplyEmpty#3a"), now, func(e Event) {
			if e.Kind == EventPacket && string(e.Payload) == "vMustReplyEmpty" {
				heard++
			}
		})
		if heard > 1 {
			t.Fatalf("heard %d times", heard)
		}
		if heard == 0 && !bytes.Contains(l.Out(), []byte("+")) && !l.noAck {
			t.Fatal("a packet was neither delivered nor acknowledged")
		}
	})
}
