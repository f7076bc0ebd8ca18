package rsp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// feed decodes a stream in pieces of n bytes and prints what is found.
func feed(d *Decoder, stream []byte, n int) string {
	var out []string
	for len(stream) > 0 {
		n := min(n, len(stream))
		d.Feed(stream[:n], func(f Frame) { out = append(out, show(f)) })
		stream = stream[n:]
	}
	return strings.Join(out, " ")
}

func show(f Frame) string {
	switch f.Kind {
	case FramePacket:
		return fmt.Sprintf("$%s", f.Payload)
	case FrameNotification:
		return fmt.Sprintf("%%%s", f.Payload)
	case FrameAck:
		return "+"
	case FrameNak:
		return "-"
	case FrameInterrupt:
		return "^C"
	case FrameBad:
		return "bad"
	}
	return "long"
}

// TestDecoder: the manual's examples, and what goes wrong, in pieces of all sizes.
func TestDecoder(t *testing.T) {
	for _, e := range []struct{ stream, want string }{
		{"$OK#9a", "$OK"},
		{"$OK#9A", "$OK"},
		{"+$qC#??\x03-", "+ $qC ^C -"},
		{"%Stop:T05#??", "%Stop:T05"},
		{"$0* #??", "$0000"},                  // the manual's run
		{"$}\x03#??", "$#"},                   // an escaped #
		{"$}\x04*!#??", "$$\x04\x04\x04\x04"}, // a run repeats what is sent, not what is meant
		{"$OK#00", "bad"},                     // wrong sum
		{"$OK#zz", "bad"},                     // no sum
		{"$}#??", "bad"},                      // an escape of nothing
		{"$*!#??", "bad"},                     // a run of nothing
		{"$a*#??", "bad"},                     // a run without count
		{"$a*\x1c#??", "bad"},                 // a count below the bias
		{"%Stop:T05#00$OK#9a", "$OK"},         // a bad notification has no answer
		{"noise$OK#9anoise", "$OK"},           // between frames
		{"$qSup$OK#9a", "$OK"},                // a packet that never ended
		{"$OK#$OK#9$OK#9a", "$OK"},            // nor did these
		{"$0123456789012345#??", "$0123456789012345"},
		{"$01234567890123456#??$OK#9a", "long $OK"},
		{"$01234567890123456#00", "bad"},
		{"$0*,#??", "$" + strings.Repeat("0", 16)},
		{"$0*.#??", "bad"}, // 18 bytes
		{"$\x03\x03#06", "$\x03\x03"},
		{"$#00", "$"},
	} {
		stream := withSum(e.stream)
		for n := 1; n <= len(stream); n++ {
			d := &Decoder{Limit: 16, Runs: true}
			if got := feed(d, stream, n); got != e.want {
				t.Errorf("%q by %d: %q, want %q", stream, n, got, e.want)
			}
		}
	}
}

// withSum replaces ?? by the checksum.
func withSum(stream string) []byte {
	end := strings.Index(stream, "#??")
	if end < 0 {
		return []byte(stream)
	}
	start := strings.LastIndexAny(stream[:end], "$%") + 1
	sum := 0
	for _, c := range []byte(stream[start:end]) {
		sum += int(c)
	}
	return fmt.Appendf(nil, "%s#%02x%s", stream[:end], sum%256, stream[end+3:])
}

// TestFrameRoundTrip: every payload comes back, through runs and escapes, and what
// is sent never holds an unescaped byte of the framing.
func TestFrameRoundTrip(t *testing.T) {
	seed := uint64(testkit.Seed(t, 21))
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range 20000 {
		payload := randomBytes(r, 0)
		if i%7 == 0 {
			payload = append(payload, bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(300))...)
		}
		for _, runs := range []bool{false, true} {
			frame := AppendPacket(nil, payload, runs)
			d := &Decoder{Limit: 1 << 10, Runs: runs}
			if got := feed(d, frame, 1+r.IntN(9)); got != "$"+string(payload) {
				t.Fatalf("seed %d: % x: got %q", seed, frame, got)
			}
			body := frame[1 : len(frame)-3]
			if bytes.ContainsAny(body, "$#") || len(body) > EscapedSize(payload) {
				t.Fatalf("seed %d: %q sends %q", seed, payload, body)
			}
		}
	}
}

// TestRunCounts: no count is sent that looks like framing (6, 7, 14 and 16 copies).
func TestRunCounts(t *testing.T) {
	for n := 1; n < 300; n++ {
		frame := AppendPacket(nil, bytes.Repeat([]byte("0"), n), true)
		for i := 1; i < len(frame)-3; i++ {
			if frame[i] != runMark {
				continue
			}
			if i++; strings.IndexByte("#$+-", frame[i]) >= 0 {
				t.Fatalf("%d: %q", n, frame)
			}
		}
	}
	// As in gdbserver: a run of 97 copies is the longest, and 0 0 0 is none.
	for n, want := range map[int]string{3: "000", 4: "0* ", 98: "0*~", 99: "0*~0", 7: "0*\"0", 8: "0*\"00"} {
		frame := AppendPacket(nil, bytes.Repeat([]byte("0"), n), true)
		if got := string(frame[1 : len(frame)-3]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestDecoderMemory: a packet without end costs no more than the limit.
func TestDecoderMemory(t *testing.T) {
	d := &Decoder{Limit: 1000}
	junk := bytes.Repeat([]byte("x"), 4096)
	d.Feed([]byte("$"), func(Frame) { t.Fatal("a frame") })
	for range 1000 {
		d.Feed(junk, func(Frame) { t.Fatal("a frame") })
	}
	if cap(d.body) > 2048 {
		t.Errorf("%d bytes are held", cap(d.body))
	}
	if got := feed(d, []byte("#00"), 1); got != "long" {
		t.Errorf("%q", got) // 4096000 times x is 0 mod 256
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("+$qC#b4\x03-%Stop:T05#ae$0* #7a$}\x03#80"), uint8(3), true)
	f.Fuzz(func(t *testing.T, stream []byte, n uint8, runs bool) {
		const limit = 64
		whole := &Decoder{Limit: limit, Runs: runs}
		var frames []string
		whole.Feed(stream, func(fr Frame) {
			if len(fr.Payload) > limit {
				t.Fatalf("a payload of %d bytes", len(fr.Payload))
			}
			frames = append(frames, show(fr))
		})
		if cap(whole.body) > 2*limit {
			t.Fatalf("%d bytes are held", cap(whole.body))
		}
		pieces := &Decoder{Limit: limit, Runs: runs}
		if got := feed(pieces, stream, int(n)+1); got != strings.Join(frames, " ") {
			t.Fatalf("whole %q, in pieces %q", frames, got)
		}
		// Whatever came before, a new packet is found.
		if got := feed(whole, []byte("$OK#9a"), 1); !strings.HasSuffix(got, "$OK") {
			t.Fatalf("no packet after %q: %q", stream, got)
		}
	})
}

// FuzzParse: no payload brings Parse down, and what it accepts it encodes to
// something that means the same.
func FuzzParse(f *testing.F) {
	for _, e := range examples {
		f.Add([]byte(e.payload))
	}
	for _, table := range tables {
		for _, rule := range table {
			f.Add(Encode(rule.packet))
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		p, err := Parse(payload)
		if err != nil {
			return
		}
		stable(t, payload, p, Parse)
	})
}

// stable checks that p, read from payload, survives being written and read again.
func stable(t *testing.T, payload []byte, p Packet, parse func([]byte) (Packet, error)) {
	t.Helper()
	once := Encode(p)
	again, err := parse(once)
	if err != nil {
		t.Fatalf("%q became %#v, written %q: %v", payload, p, once, err)
	}
	if twice := Encode(again); !bytes.Equal(once, twice) {
		t.Fatalf("%q: %q, then %q", payload, once, twice)
	}
}

// FuzzParseReply: the same for replies to every request.
func FuzzParseReply(f *testing.F) {
	var requests []Packet
	for _, table := range tables {
		for _, rule := range table {
			requests = append(requests, rule.packet)
		}
	}
	for _, e := range replyExamples {
		for i, r := range requests {
			if fmt.Sprintf("%T", r) == fmt.Sprintf("%T", e.request) {
				f.Add(uint8(i), []byte(e.payload))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		request := requests[int(which)%len(requests)]
		p, err := ParseReply(request, payload)
		if err != nil {
			return
		}
		stable(t, payload, p, func(b []byte) (Packet, error) { return ParseReply(request, b) })
	})
}
