package ctf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/event"
)

// The names of files in a trace.
const (
	MetadataFile = "metadata"
	OwnDirectory = "jalon"
	SchemasFile  = "schemas.json"
	SummaryFile  = "summary.json"
	InfoFile     = "info.json"
	// ChunkPrefix begins the names of the directories of a trace that was rotated.
	ChunkPrefix = "chunk-"
	// CompressedSuffix ends the names of files of packets that are compressed by zstd.
	CompressedSuffix = ".zst"
)

// Trace is a trace on disk that is read. Its methods are called from one goroutine; iterators are independent of each other.
type Trace struct {
	Dir     string
	Info    FileInfo
	Summary *Summary // nil: the recording has not ended in order, or the trace is one part of it
	Whole   *Summary // of the recording of which the trace is one part, if it has ended in order
	Ending  Ending
	State   *States
	// CompleteFrom is from which time on the trace has all events, CLOCK_MONOTONIC in nanoseconds; 0: from its beginning. Rings that are
	// overwritten keep their own newest events each, so that older ones have gaps.
	CompleteFrom int64
	// Damage has what could not be read: parts of packets behind the last whole one, damaged files.
	Damage []string

	chunks  []*chunk
	streams []*streamFile
	closers []io.Closer
	index   map[*event.Schema]int
}

// chunk is one directory of a trace.
type chunk struct {
	dir   string
	sites [classes][]*siteReader // by id
	large [classes]bool
	// checked: packets have checksums.
	checked bool
}

type siteReader struct {
	schema *event.Schema
	plan   *plan
	index  int // of the schema: see Iterator.Site
}

// streamFile is a file of packets.
type streamFile struct {
	name    string
	chunk   *chunk
	file    packetSource
	class   Class
	number  uint64
	cpu     int
	packets []packet
	holes   bool // packets are missing before others
	cut     bool // something in the file is no packet of it
}

// packetSource is where packets are read from.
type packetSource interface {
	io.ReaderAt
	Size() int64
}

type packet struct {
	at         int64
	size       int // with its head
	begin, end int64
	lost       uint64
	pid        int
	seq        uint64
	sum        uint32 // of the contents
}

// Limits of what is read.
const (
	maxPacket  = 256 << 20
	maxStreams = 1 << 16
)

// Open opens a trace: a directory that jalon record has made, or the parts of one that was rotated.
func Open(dir string) (*Trace, error) {
	t := &Trace{Dir: dir, State: newStates(), index: map[*event.Schema]int{}}
	dirs, err := chunksOf(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		if err := t.openChunk(d); err != nil {
			t.Close()
			return nil, err
		}
	}
	if s, err := readSummary(dir); err == nil {
		t.Summary = s
		t.missing()
	}
	t.readEnding()
	if err := t.readStates(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// missing notes what the files should have by the summary. Chunks that the recording itself has removed are not missed.
func (t *Trace) missing() {
	have := uint64(0)
	for _, s := range t.streams {
		for i := range s.packets {
			have += uint64(s.packets[i].size)
		}
	}
	if want := t.Summary.Bytes; have < want && t.Summary.Removed == 0 {
		t.Damage = append(t.Damage, fmt.Sprintf("%d of the %d bytes of events that were recorded are not there: a file was removed or replaced, or is damaged", want-have, want))
	}
}

// chunksOf returns the directories of a trace, oldest first.
func chunksOf(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, MetadataFile)); err == nil {
		return []string{dir}, nil
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ChunkPrefix) || !e.IsDir() {
			continue
		}
		d := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(d, MetadataFile)); err == nil {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is not a trace: it has no file %s (jalon record -o makes traces)", dir, MetadataFile)
	}
	slices.Sort(out)
	return out, nil
}

func (t *Trace) openChunk(dir string) error {
	c := &chunk{dir: dir}
	if err := c.readInfo(t); err != nil {
		return err
	}
	if err := c.readSchemas(t); err != nil {
		return err
	}
	t.chunks = append(t.chunks, c)
	plain := map[string]bool{}
	for _, sub := range []string{"", OwnDirectory} {
		list, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			return err
		}
		for _, e := range list {
			name := e.Name()
			if !e.Type().IsRegular() || strings.HasPrefix(name, ".") || !isStream(name, sub != "") || plain[strings.TrimSuffix(name, CompressedSuffix)] {
				continue
			}
			plain[name] = true
			if len(t.streams) >= maxStreams {
				return fmt.Errorf("%s has more than %d streams", dir, maxStreams)
			}
			if err := t.openStream(c, filepath.Join(dir, sub, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isStream reports whether a file has packets. Those that are compressed are with jalon's own files, where other viewers do not look.
func isStream(name string, compressed bool) bool {
	base, zst := strings.CutSuffix(name, CompressedSuffix)
	class, _, _ := strings.Cut(base, "-")
	return zst == compressed && slices.Contains(classNames[:], class)
}

func (t *Trace) openStream(c *chunk, name string) error {
	s := &streamFile{name: name, chunk: c}
	src, closer, err := openPackets(name)
	if errors.Is(err, errCompressed) {
		t.Damage = append(t.Damage, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if closer != nil {
		t.closers = append(t.closers, closer)
	}
	s.file = src
	bad := s.index(t.Info.UUID)
	for _, why := range bad {
		t.Damage = append(t.Damage, fmt.Sprintf("%s: %s", name, why))
	}
	s.cut = len(bad) > 0
	if len(s.packets) > 0 {
		t.streams = append(t.streams, s)
	}
	return nil
}

// openRegular opens a file of a trace, which somebody else may have made: only a regular file.
func openRegular(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// index reads the heads of the packets. It returns what else is in the file, in words. Where packets have checksums, those behind something
// that is damaged are found again.
func (s *streamFile) index(uuid [16]byte) (bad []string) {
	note := func(at int64, why string) {
		if len(bad) < maxDamage {
			bad = append(bad, fmt.Sprintf("at %d: %s", at, why))
		}
	}
	size := s.file.Size()
	for at := int64(0); at < size; {
		p, why := s.head(at, size, uuid)
		if why == "" {
			if s.packets, why = follow(s.packets, p); why != "" {
				note(at, why)
				s.holes = true
				if !s.chunk.checked {
					return bad
				}
			}
			at += int64(p.size)
			continue
		}
		next := int64(-1)
		if s.chunk.checked {
			next = nextPacket(s.file, at+1, uuid, true)
		}
		if next < 0 {
			note(at, why)
			return bad
		}
		note(at, fmt.Sprintf("%s; %d bytes are left out", why, next-at))
		s.holes = true
		at = next
	}
	return bad
}

// head reads the head of the packet at a position, which is whole in the file, or returns why there is none.
func (s *streamFile) head(at, size int64, uuid [16]byte) (p packet, why string) {
	var head [packetHead]byte
	if n, err := s.file.ReadAt(head[:], at); n < packetHead {
		if err == nil || errors.Is(err, io.EOF) {
			return p, fmt.Sprintf("%d bytes at the end are a part of a packet", size-at)
		}
		return p, err.Error()
	}
	p, class, number, cpu, why := parseHead(head[:], uuid, s.chunk.checked)
	p.at = at
	switch {
	case why != "":
	case int64(p.size) > size-at:
		why = fmt.Sprintf("%d bytes at the end are a part of a packet of %d", size-at, p.size)
	case len(s.packets) == 0:
		s.class, s.number, s.cpu = class, number, cpu
	case class != s.class || number != s.number:
		why = "a packet of another stream"
	}
	return p, why
}

// follow adds a packet to those before it, if it can be behind them.
func follow(list []packet, p packet) (all []packet, why string) {
	if len(list) > 0 {
		switch last := &list[len(list)-1]; {
		case p.begin < last.end:
			return list, "a packet begins before the one before it ends"
		case p.seq <= last.seq:
			return list, "a packet is not behind the one before it"
		case p.seq > last.seq+1:
			why = fmt.Sprintf("%d packets are missing", p.seq-last.seq-1)
		}
	}
	return append(list, p), why
}

// nextPacket is the position of the next packet of a trace that begins at a position or later; -1: there is none.
func nextPacket(f io.ReaderAt, from int64, uuid [16]byte, checked bool) int64 {
	if x, ok := f.(*framesSource); ok {
		i, _ := slices.BinarySearch(x.at, from)
		if i < len(x.at)-1 {
			return x.at[i]
		}
		return -1
	}
	buf := make([]byte, 1<<20)
	for ; ; from += int64(len(buf)) - packetHead {
		n, err := f.ReadAt(buf, from)
		for i := 0; i+packetHead <= n; i++ {
			if buf[i] == magic&0xff && buf[i+1] == magic>>8&0xff {
				if _, _, _, _, why := parseHead(buf[i:i+packetHead], uuid, checked); why == "" {
					return from + int64(i)
				}
			}
		}
		if err != nil {
			return -1
		}
	}
}

func parseHead(b []byte, uuid [16]byte, checked bool) (p packet, class Class, number uint64, cpu int, why string) {
	u32 := func(off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	content, size := u64(packetContent), u64(packetSize)
	p = packet{begin: int64(u64(packetBegin)), end: int64(u64(packetEnd)), lost: u64(packetLost), seq: u64(packetNumber), pid: int(int32(u32(packetPid)))}
	if checked {
		p.seq, p.sum, content = uint64(u32(packetNumber)), u32(packetSum), uint64(u32(packetContent))
	}
	class = Class(u32(packetClass))
	switch {
	case u32(0) != magic:
		why = "this is not a packet"
	case checked && u32(packetHeadSum) != headSum(b):
		why = "the head of a packet is damaged"
	case [16]byte(b[packetUUID:packetUUID+16]) != uuid:
		why = "a packet of another trace"
	case class >= classes:
		why = fmt.Sprintf("a stream of an unknown class %d", class)
	case content != size || size&7 != 0 || size < 8*packetHead || size > 8*maxPacket:
		why = fmt.Sprintf("a packet cannot have %d bits", size)
	case p.begin < 0 || p.end < p.begin:
		why = "the times of a packet are not possible"
	}
	p.size = int(size / 8)
	return p, class, u64(packetStream), int(u32(packetCPU)), why
}

// Close closes the files.
func (t *Trace) Close() {
	for _, c := range t.closers {
		_ = c.Close()
	}
	t.closers = nil
}

// Schemas are the schemas of all sites, in the order of their places in the recording.
func (t *Trace) Schemas() (list []*event.Schema) {
	listed := map[*event.Schema]bool{} // chunks have them in common: see known
	for _, c := range t.chunks {
		for class := range c.sites {
			for _, x := range c.sites[class] {
				if x != nil && !listed[x.schema] {
					listed[x.schema] = true
					list = append(list, x.schema)
				}
			}
		}
	}
	return list
}

// Span are the times of the first and the last event, CLOCK_MONOTONIC in nanoseconds; ok: there are events.
func (t *Trace) Span() (first, last int64, ok bool) {
	for _, s := range t.streams {
		if s.class == State {
			continue
		}
		b, e := s.packets[0].begin, s.packets[len(s.packets)-1].end
		if !ok || b < first {
			first = b
		}
		if !ok || e > last {
			last = e
		}
		ok = true
	}
	return first, last, ok
}

// Lost is how many hits had no room in a ring, as far as packets have it.
func (t *Trace) Lost() (n uint64) {
	newest := map[[2]uint64]uint64{}
	for _, s := range t.streams {
		k := [2]uint64{uint64(s.class), s.number}
		for i := range s.packets {
			newest[k] = max(newest[k], s.packets[i].lost)
		}
	}
	for _, lost := range newest {
		n += lost
	}
	return n
}

// Packets is the number of packets, Bytes that of their bytes.
func (t *Trace) Packets() (n int, bytes int64) {
	for _, s := range t.streams {
		n += len(s.packets)
		for i := range s.packets {
			bytes += int64(s.packets[i].size)
		}
	}
	return n, bytes
}
