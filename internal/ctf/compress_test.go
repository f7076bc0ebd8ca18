package ctf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/jalon-trace/jalon/internal/event"
)

// compressed compresses the files of packets of a trace. One that has a table of its packets is read in parts.
func (m *made) compressed(t testing.TB, table bool) {
	t.Helper()
	for class := range classes {
		files, err := filepath.Glob(filepath.Join(m.dir, class.String()+"*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			plain, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if table {
				err = Compress(&b, bytes.NewReader(plain))
			} else {
				z, zerr := zstd.NewWriter(&b)
				if _, err = z.Write(plain); err == nil {
					err = errors.Join(zerr, z.Close())
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			z, err := zstd.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			whole := bytes.Clone(b.Bytes())
			if again, err := io.ReadAll(z); err != nil || !bytes.Equal(again, plain) {
				t.Fatalf("%s: other decompressors: %v, %d bytes of %d", name, err, len(again), len(plain))
			}
			z.Close()
			m.write(t, OwnDirectory+"/"+filepath.Base(name)+CompressedSuffix, whole)
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCompressed reads compressed traces whole and in part, those of earlier versions too.
func TestCompressed(t *testing.T) {
	for seed := range uint64(12) {
		m := makeTrace(t, seed, 1000)
		m.compressed(t, seed%3 != 0)
		checkRead(t, seed, m, Query{})
		checkRead(t, seed, m, Query{From: m.events[300].time, To: m.events[600].time})
	}
}

// TestCompressedParts: a query decompresses the packets of its time only, and no other file is read.
func TestCompressedParts(t *testing.T) {
	m := makeTrace(t, 1, 5000)
	m.compressed(t, true)
	tr, err := Open(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	read := func() (n int) {
		for _, s := range tr.streams {
			n += s.file.(*framesSource).read
		}
		return n
	}
	before := read()
	if all, _ := tr.Packets(); before >= 5 || all < 25 {
		t.Fatalf("%d of %d packets were decompressed when the trace was opened", before, all)
	}
	it := tr.Events(Query{From: m.events[2500].time, To: m.events[2501].time})
	for err = nil; err == nil; _, err = it.Next() {
	}
	if !errors.Is(err, io.EOF) || it.Read() != 2 {
		t.Fatalf("%d events, %v", it.Read(), err)
	}
	if n := read() - before; n > 4 {
		t.Fatalf("%d packets were decompressed for two events", n)
	}
}

// TestChunksInTurn: of the parts of a trace that was rotated those are in memory that have events at the time.
func TestChunksInTurn(t *testing.T) {
	m := makeTrace(t, 3, 4000)
	tr, err := Open(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	// Each packet becomes a stream, as if each were in a part of its own.
	var streams []*streamFile
	for _, s := range tr.streams {
		for i := range s.packets {
			part := *s
			part.packets = s.packets[i : i+1]
			streams = append(streams, &part)
		}
	}
	tr.streams = streams
	it := tr.Events(Query{})
	most, last := 0, int64(0)
	for i := range m.events {
		ev, err := it.Next()
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if ev.TimeNS < last || ev.TimeNS != m.events[i].time {
			t.Fatalf("event %d has the time %d, want %d", i, ev.TimeNS, m.events[i].time)
		}
		most, last = max(most, len(it.heap)+len(it.spare)), ev.TimeNS
	}
	if _, err := it.Next(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if most > 8 || len(streams) < 25 {
		t.Errorf("%d packets of %d were in memory at once", most, len(streams))
	}
}

// FuzzFrames: a compressed file of packets can have anything.
func FuzzFrames(f *testing.F) {
	m := makeTrace(f, 1, 60)
	m.compressed(f, true)
	for _, name := range []string{"process-0", "kernel-1"} {
		b, err := os.ReadFile(filepath.Join(m.dir, OwnDirectory, name+CompressedSuffix))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(b[len(b)/2:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m.write(t, OwnDirectory+"/process-0"+CompressedSuffix, b)
		tr, err := Open(m.dir)
		if err != nil {
			return
		}
		defer tr.Close()
		it := tr.Events(Query{})
		for err == nil {
			var ev *event.Event
			if ev, err = it.Next(); err == nil && ev.Schema == nil {
				t.Fatal("an event without a schema")
			}
		}
	})
}

// TestDamagedFrames: whatever happens to a compressed file, the packets that are whole are read, and damage is reported. After a repair the
// same events are there, and no damage.
func TestDamagedFrames(t *testing.T) {
	m := makeTrace(t, 2, 2000)
	stream := filepath.Join(m.dir, "process-0")
	plain, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	m.compressed(t, true)
	name := OwnDirectory + "/process-0" + CompressedSuffix
	whole, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := lines(t, m.dir)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	for i := range flipped[:len(flipped)/4] {
		flipped[i] ^= 0x55
	}
	zeroed := bytes.Clone(whole)
	clear(zeroed[len(zeroed)/2:])
	for _, d := range []struct {
		what       string
		compressed []byte
		plain      []byte // the file of which it was made; nil: it was removed
		damage     bool   // and some events are missing
	}{
		{"flipped bits", flipped, nil, true},
		{"a half of zeros", zeroed, nil, true},
		{"a torn end", whole[:len(whole)*2/3], nil, true},
		{"killed before the file was removed", whole, plain, false},
		{"killed, and it is damaged", zeroed, plain, false},
	} {
		m.write(t, name, d.compressed)
		m.write(t, OwnDirectory+"/.process-2.new", nil)
		if d.plain != nil {
			m.write(t, "process-0", d.plain)
		}
		got, damage, err := lines(t, m.dir)
		if err != nil || d.damage != (len(damage) > 0) || d.damage != (len(got) < len(all)) || len(got) < len(all)*3/4 {
			t.Fatalf("%s: %v; %d of %d events; damage %q", d.what, err, len(got), len(all), damage)
		}
		done, err := Repair(m.dir)
		if err != nil || len(done) != 1 {
			t.Fatalf("%s: %q, %v", d.what, done, err)
		}
		again, damage, err := lines(t, m.dir)
		damage = slices.DeleteFunc(damage, func(text string) bool { return strings.Contains(text, "packets are missing") })
		if err != nil || !slices.Equal(again, got) || len(damage) > 0 {
			t.Fatalf("%s: repaired: %v; %d events, before %d; damage %q", d.what, err, len(again), len(got), damage)
		}
		if list, _ := filepath.Glob(filepath.Join(m.dir, OwnDirectory, ".*")); len(list) > 0 {
			t.Fatalf("%s: %q is left", d.what, list)
		}
		if done, err := Repair(m.dir); err != nil || len(done) > 0 {
			t.Fatalf("%s: repaired twice: %q, %v", d.what, done, err)
		}
		_ = os.Remove(stream)
	}
}

// TestRepairWithoutRoom: a file is not damaged because there is no room to unpack it.
func TestRepairWithoutRoom(t *testing.T) {
	m := makeTrace(t, 2, 2000)
	m.compressed(t, false)
	name := filepath.Join(m.dir, OwnDirectory, "process-0"+CompressedSuffix)
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(m.dir, "none"))
	if done, err := Repair(m.dir); err == nil {
		t.Errorf("no error; %q", done)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has changed: %d bytes, before %d; %v", len(got), len(want), err)
	}
	_, cause, err := unpackTo(failing{}, bytes.NewReader(want))
	if cause != nil || !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v, %v", cause, err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// TestRepairRecorded: a trace that is being recorded is not repaired, nor is a part of it.
func TestRepairRecorded(t *testing.T) {
	dir := t.TempDir()
	part := filepath.Join(dir, ChunkPrefix+"000000")
	if err := os.Mkdir(part, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	Lock(f)
	for _, d := range []string{dir, part} {
		if _, err := Repair(d); err == nil || !strings.Contains(err.Error(), "is being recorded") {
			t.Errorf("%s: %v", d, err)
		}
	}
}
