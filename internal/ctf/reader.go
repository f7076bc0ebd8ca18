package ctf

import (
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
	if len(out) == 0 && slices.ContainsFunc(list, isBegun(dir)) {
		return nil, fmt.Errorf("%s has no events: its recording was killed before the first were written, or has just begun", dir)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is not a trace: it has no file %s (jalon record -o makes traces)", dir, MetadataFile)
	}
	slices.Sort(out)
	return out, nil
}

// isBegun reports whether a directory in that of a trace is one that a recording begins with.
func isBegun(dir string) func(e os.DirEntry) bool {
	return func(e os.DirEntry) bool {
		_, err := os.Stat(filepath.Join(dir, e.Name(), OwnDirectory))
		return e.IsDir() && (e.Name() == OwnDirectory || strings.HasPrefix(e.Name(), ChunkPrefix) && err == nil)
	}
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
	src, closer, damage, err := openPackets(name)
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
	if damage != "" {
		bad = append(bad, damage)
	}
	for _, why := range bad {
		t.Damage = append(t.Damage, fmt.Sprintf("%s: %s", name, why))
	}
	s.cut = len(bad) > 0
	if len(s.packets) > 0 {
		t.streams = append(t.streams, s)
	}
	return nil
}

// openRegular opens a file of a trace, if it is a regular file: the directory may be of another user.
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
