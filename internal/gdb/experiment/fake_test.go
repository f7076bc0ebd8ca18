package experiment

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// fake is an engine whose hits are what a test queues.
type fake struct {
	calls   []string
	fail    map[string]error // by call
	queue   []Hit
	kept    int // of the queue: given only at the end
	vars    map[int]int64
	counts  map[*Spec]Counts
	memory  map[uint64]byte
	markers []Marker
	gone    bool
	armed   map[*Spec]bool
}

func newFake() *fake {
	return &fake{fail: map[string]error{}, vars: map[int]int64{}, counts: map[*Spec]Counts{}, memory: map[uint64]byte{}, armed: map[*Spec]bool{}}
}

func (f *fake) call(format string, args ...any) error {
	s := fmt.Sprintf(format, args...)
	f.calls = append(f.calls, s)
	return f.fail[s]
}

func (f *fake) Start(list []*Spec, vars []Variable) []error {
	out := make([]error, len(list))
	bad := false
	for i, s := range list {
		out[i] = f.call("start %d %v", s.Number, s.Enabled)
		bad = bad || out[i] != nil
	}
	clear(f.vars)
	for _, v := range vars {
		f.vars[v.Number] = v.Value
	}
	if !bad {
		for _, s := range list {
			f.armed[s] = s.Enabled
		}
	}
	return out
}

func (f *fake) Add(s *Spec) error {
	err := f.call("add %d", s.Number)
	if err == nil {
		f.armed[s] = true
	}
	return err
}

func (f *fake) Enable(s *Spec, on bool) error {
	err := f.call("enable %d %v", s.Number, on)
	if err == nil {
		f.armed[s] = on
	}
	return err
}

func (f *fake) Stop() error { clear(f.armed); return f.call("stop") }

func (f *fake) Drain(final bool, h func(*Hit)) {
	keep := f.kept
	if final {
		keep = 0
	}
	for len(f.queue) > keep {
		q := f.queue[0]
		f.queue = f.queue[1:]
		h(&q)
	}
}

func (f *fake) Counts(s *Spec) Counts { return f.counts[s] }

func (f *fake) Variable(n int) (int64, bool) { v, ok := f.vars[n]; return v, ok }

func (f *fake) SetVariable(n int, v int64) { f.vars[n] = v }

func (f *fake) Memory(addr uint64, b []byte) error {
	for i := range b {
		c, ok := f.memory[addr+uint64(i)]
		if !ok {
			return errors.New("unreadable")
		}
		b[i] = c
	}
	return nil
}

func (f *fake) Markers() ([]Marker, error) { return f.markers, f.fail["markers"] }

func (f *fake) MarkersAt(addr uint64) ([]Marker, error) {
	var out []Marker
	for _, m := range f.markers {
		if m.Addr == addr {
			out = append(out, m)
		}
	}
	return out, nil
}

func (f *fake) Gone() bool { return f.gone }

func (f *fake) SetRoom(int64) {}

func (f *fake) Ended() Ending { return Ending{} }

// bench is an experiment over a fake engine.
type bench struct {
	*Experiment
	t     testing.TB
	fake  *fake
	clock time.Time
	text  strings.Builder // printed and logged
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, fake: newFake(), clock: time.UnixMicro(1_000_000)}
	b.Experiment = New(b.fake, Options{
		Target:    rsp.TargetX86Linux(rsp.CPU{AVX: true}),
		WriteFile: writeFile,
		Print:     func(s string) { fmt.Fprintf(&b.text, "printed %q\n", s) },
		Log:       func(s string) { fmt.Fprintf(&b.text, "logged %q\n", s) },
		Now:       func() time.Time { b.clock = b.clock.Add(time.Millisecond); return b.clock },
	})
	return b
}

func writeFile(name string, content func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}

// ask sends a packet and gives the reply, both as text.
func (b *bench) ask(packet string) string {
	b.t.Helper()
	p, err := rsp.Parse([]byte(packet))
	if err != nil {
		b.t.Fatalf("%s: %v", packet, err)
	}
	reply, known := b.Handle(p)
	if !known {
		b.t.Fatalf("%s is not known", packet)
	}
	return string(rsp.Encode(reply))
}

// talk runs lines of `packet -> reply`; a reply that ends with * is the beginning of
// it. Empty lines and those that begin with # are for people.
func (b *bench) talk(script string) {
	b.t.Helper()
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		packet, want, ok := strings.Cut(line, " -> ")
		if !ok {
			packet, want = line, "OK"
		}
		got := b.ask(packet)
		if begin, ok := strings.CutSuffix(want, "*"); ok && strings.HasPrefix(got, begin) {
			continue
		}
		if got != want {
			b.t.Errorf("%s\n got %s\nwant %s", packet, got, want)
		}
	}
}

// spec gives the location of tracepoint number.
func (b *bench) spec(number int) *Spec {
	b.t.Helper()
	for _, tp := range b.catalogue.list {
		if tp.spec.Number == number {
			return &tp.spec
		}
	}
	b.t.Fatalf("there is no tracepoint %d", number)
	return nil
}
