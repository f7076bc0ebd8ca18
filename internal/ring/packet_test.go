package ring

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// metadata describes the packets of a ring with two sites of this test. The id of an event is the upper half of its word, that of a
// context the size of the event behind it. What fills the rest of a sub-buffer is not content.
const metadata = `/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; byte_order = le; } := u32;
typealias integer { size = 64; align = 64; signed = false; byte_order = le; } := u64;
trace {
	major = 1; minor = 8; byte_order = le;
	packet.header := struct { u32 magic; u32 stream_id; };
};
clock { name = tsc; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 64; signed = false; map = clock.tsc.value; } := time64;
typealias integer { size = 27; align = 64; signed = false; map = clock.tsc.value; } := time27;
stream {
	id = 0;
	packet.context := struct {
		time64 timestamp_begin; time64 timestamp_end; u64 content_size; u64 packet_size; u64 events_discarded; u64 position; u64 cpu_id;
	};
	event.header := struct {
		time27 timestamp;
		enum : integer { size = 5; align = 1; signed = false; } { compact = 1, full = 2 } id;
		variant <id> {
			struct { integer { size = 32; align = 1; signed = false; } id; } compact;
			struct {
				integer { size = 32; align = 1; signed = false; } id;
				integer { size = 64; align = 1; signed = false; map = clock.tsc.value; } timestamp;
			} full;
		} v;
	};
};
event { id = 16; stream_id = 0; name = "context"; fields := struct { u64 thread; }; };
event { id = 32; stream_id = 0; name = "context"; fields := struct { u64 thread; }; };
event { id = 4194308; stream_id = 0; name = "short"; fields := struct { u64 n; }; };
event { id = 8388613; stream_id = 0; name = "long"; fields := struct { u64 n; u64 a; u64 b; }; };
`

// TestPackets: sub-buffers of a ring that is overwritten, copied as they are and with filled heads, are a CTF trace: babeltrace2
// reads every event with its time and values, and each context, without a warning; it sees the hits that were lost.
func TestPackets(t *testing.T) {
	testkit.Need(t, "babeltrace2")
	s := newShared(t, geometry(t, 1, 16*PageSize, 6))
	w := []*writer{newWriter(s, 4, nil), newWriter(s, 5, nil)}
	const first, step, lost = 1 << 40, 1000, 7
	ring, want, contexts := s.g.RingOffset(0), []string{}, 0
	write := func(n uint64) bool {
		fields := []uint64{n, n * n, ^n}[:1+2*(n%2)]
		if !w[n%2].write(0, first+step*n, 77, fields...) {
			return false
		}
		if want = append(want, fmt.Sprintf("short n = %d", n)); n%2 == 1 {
			want[n] = fmt.Sprintf("long n = %d a = %d b = %d", n, n*n, ^n)
		}
		contexts++
		return true
	}
	n := uint64(0)
	for ; n < 500 && write(n); n++ {
	}
	*s.word(ring + RingDropped) += lost
	for ; write(n); n++ {
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "metadata"), []byte(metadata), 0o600); err != nil {
		t.Fatal(err)
	}
	sub, reserved := SubSize(s.g.size()), *s.word(ring + RingReserved)
	var stream []byte
	for at := uint64(0); at < reserved; at += sub {
		packet := bytes.Clone(s.Bytes(ring+RingData+at, sub))
		next, ok := ReadPacket(s.Bytes(ring+RingData+at+sub, sub))
		if !ok || next.Position != at+sub { // what the mirror has is the first one
			next = Packet{Begin: first + step*n, Lost: *s.word(ring + RingDropped), Before: reserved}
		}
		if err := FillPacket(packet, next, 3); err != nil {
			t.Fatal(err)
		}
		stream = append(stream, packet...)
	}
	if err := os.WriteFile(filepath.Join(dir, "ring0"), stream, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command("babeltrace2", "--clock-cycles", "--no-delta", dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	checkPackets(t, out.String(), want, contexts)
	// The last one found the ring full.
	text := errs.String()
	for _, n := range []string{fmt.Sprintf("discarded %d events", lost), "discarded 1 event "} {
		if !strings.Contains(text, n) {
			t.Errorf("babeltrace2 does not say %q\n%s", n, text)
		}
	}
	if strings.Count(text, "\n") != 2 {
		t.Errorf("babeltrace2 says\n%s", text)
	}
}

var notation = regexp.MustCompile(`[{}:,]+ *`)

// checkPackets compares what babeltrace2 prints.
func checkPackets(t *testing.T, text string, want []string, contexts int) {
	t.Helper()
	got := 0
	for line := range strings.Lines(text) {
		stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "["), "] ")
		time, err := strconv.ParseUint(stamp, 10, 64)
		plain := strings.Join(strings.Fields(notation.ReplaceAllString(rest, " ")), " ")
		switch {
		case err != nil || !strings.Contains(plain, "cpu_id = 3"):
			t.Fatalf("%q: %v", line, err)
		case strings.Contains(plain, "context"):
			contexts--
			continue
		}
		head, fields, _ := strings.Cut(plain, " cpu_id = 3 ")
		kind, _, _ := strings.Cut(head, " ")
		if time != 1<<40+1000*uint64(got) || got >= len(want) || kind+" "+fields != want[got] {
			t.Fatalf("event %d: %q", got, line)
		}
		got++
	}
	if got != len(want) || contexts != 0 {
		t.Errorf("%d events of %d; %d contexts are missing", got, len(want), contexts)
	}
}

// TestFillPacket refuses what no writer can have left.
func TestFillPacket(t *testing.T) {
	s := newShared(t, geometry(t, 1, PageSize, 1))
	newWriter(s, 0, nil).write(0, 5, 6, 7)
	ring, sub := s.g.RingOffset(0), SubSize(s.g.size())
	good := Packet{Begin: 9, Lost: 1, Before: *s.word(ring + RingReserved)}
	for name, next := range map[string]Packet{
		"":                {Begin: good.Begin, Lost: good.Lost, Before: good.Before},
		"no content":      {Begin: 9, Before: 8},
		"too much":        {Begin: 9, Before: sub + 8},
		"half a word":     {Begin: 9, Before: good.Before + 4},
		"ends too early":  {Begin: 4, Before: good.Before},
		"position behind": {Begin: 9, Before: good.Before - 2*sub},
	} {
		if err := FillPacket(bytes.Clone(s.Bytes(ring+RingData, sub)), next, 0); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, b := range [][]byte{nil, make([]byte, PacketHead), make([]byte, 8)} {
		if err := FillPacket(b, good, 0); err == nil {
			t.Errorf("%d bytes without a head are accepted", len(b))
		}
	}
}
