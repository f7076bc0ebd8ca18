package merge

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/test/madetrace"
)

// clock is the second machine's clock: its time at a time of the first.
type clock struct {
	shift int64
	rate  float64
}

func (c clock) at(t int64) int64 { return t + c.shift + int64(c.rate*float64(t)) }

// machines are the traces of two machines that send each other messages with numbers. All times are of the first clock, and returned.
type machines struct {
	a, b *ctf.Trace
	// when each event was, in the order of time: a's are positive
	times []int64
}

func exchange(t *testing.T, rnd *rand.Rand, c clock, messages int, spacing int64) *machines {
	t.Helper()
	ma, mb := madetrace.New(t), madetrace.New(t)
	n := madetrace.Field{Name: "n", Type: ctype.LongT}
	sendA, recvA := ma.Site("a.c:1", "send_a", n, madetrace.Field{Name: "$bt", Stack: true}), ma.Site("a.c:2", "recv_a", n)
	recvB, sendB := mb.Site("b.c:1", "recv_b", n, madetrace.Field{Name: "$bt", Stack: true}), mb.Site("b.c:2", "send_b", n)
	ma.Thread(10, 10, "client")
	mb.Thread(10, 10, "server")
	stackA, stackB := ma.Stack("send_a", "main"), mb.Stack("recv_b", "serve")
	at := int64(5_000_000_000)
	x := &machines{}
	for i := range messages {
		for k, step := range []int64{spacing, 5000 + rnd.Int64N(40_000), 2000, 5000 + rnd.Int64N(40_000)} {
			at += step
			x.times = append(x.times, at)
			switch k {
			case 0:
				ma.Event(sendA, at, 0, 10, 10, stackA, madetrace.Record(sendA, i))
			case 1:
				mb.Event(recvB, c.at(at), 0, 10, 10, stackB, madetrace.Record(recvB, i))
			case 2:
				mb.Event(sendB, c.at(at), 0, 10, 10, 0, madetrace.Record(sendB, i))
			case 3:
				ma.Event(recvA, at, 0, 10, 10, 0, madetrace.Record(recvA, i))
			}
		}
	}
	x.a, x.b = ma.Open(), mb.Open()
	return x
}

var messages = []Pair{{Send: "send_a", Receive: "recv_b"}, {Send: "send_b", Receive: "recv_a", Back: true}}

// TestMergeComplete: a joined trace has all events from when on both have.
func TestMergeComplete(t *testing.T) {
	const shift = 500
	for _, c := range [][3]int64{{0, 0, 0}, {2500, 0, 2500}, {0, 2200, 2200 + shift}, {2900, 2200, 2900}, {2600, 2200, 2200 + shift}} {
		var traces [2]*ctf.Trace
		for i := range traces {
			m := madetrace.New(t)
			m.CompleteFrom = c[i]
			s := m.Site("work", "work", madetrace.Field{Name: "i", Type: ctype.IntT})
			m.Thread(10, 10, "prog")
			for n := range 3 {
				m.Event(s, int64(1_000_002_000+1000*n), 0, 10, 10, 0, madetrace.Record(s, n))
			}
			if m.CompleteFrom != 0 {
				m.CompleteFrom += 1_000_000_000
			}
			traces[i] = m.Open()
		}
		out, offset := filepath.Join(t.TempDir(), "both"), time.Duration(shift)
		if _, err := Merge(out, traces[0], traces[1], &Options{Offset: &offset}); err != nil {
			t.Fatal(err)
		}
		tr, err := ctf.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := tr.Span()
		got := tr.CompleteFrom
		if got != 0 {
			got -= first - 2000 // the times may have been moved
		}
		if got != c[2] {
			t.Errorf("%d: %d", c, got)
		}
		tr.Close()
	}
}

// TestMerge: the clocks of two machines are found within the error that is stated, whatever their offset and rate, and the joined trace has
// all events at their times.
func TestMerge(t *testing.T) {
	for _, c := range []clock{{0, 0}, {shift: 1_234_567_890_123}, {shift: -4_999_000_000}, {shift: 77, rate: 30e-6}, {shift: -1_000_000, rate: -200e-6}, {shift: 1 << 50, rate: 400e-6}} {
		for _, spacing := range []int64{50_000, 50_000_000} {
			rnd := rand.New(rand.NewPCG(1, uint64(spacing)))
			x := exchange(t, rnd, c, 400, spacing)
			out := filepath.Join(t.TempDir(), "both")
			res, err := Merge(out, x.a, x.b, &Options{Pairs: messages, Key: "n"})
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if res.Events != 1600 || res.Forth != 400 || res.Behind != 400 || res.Ambiguous+res.Unmatched != 0 || *res.Error > 45_000 {
				t.Errorf("%+v: %+v, error %d", c, res, *res.Error)
			}
			tr, err := ctf.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := tr.Span()
			shift := first - x.times[0]
			it, last := tr.Events(ctf.Query{}), int64(0)
			var most int64
			for i := 0; ; i++ {
				ev, err := it.Next()
				if errors.Is(err, io.EOF) {
					if i != 1600 {
						t.Errorf("%d events", i)
					}
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if ev.TimeNS < last {
					t.Fatalf("event %d is earlier than the one before it", i)
				}
				last = ev.TimeNS
				inB := i%4 == 1 || i%4 == 2
				if inB {
					most = max(most, abs(ev.TimeNS-shift-x.times[i]))
				} else if ev.TimeNS-shift != x.times[i] {
					t.Fatalf("event %d of the first trace is at %d, want %d", i, ev.TimeNS-shift, x.times[i])
				}
				id, cpu, comm := 10, 0, "client"
				if inB {
					id, cpu, comm = 10+idStep, cpuStep, "server"
				}
				if ev.Pid != id || ev.Tid != id || ev.CPU != cpu || !strings.HasSuffix(ev.Comm, "/"+comm) || ev.Schema.Place != []string{"a.c:1", "b.c:1", "b.c:2", "a.c:2"}[i%4] {
					t.Fatalf("event %d: %+v %s", i, ev, ev.Schema.Place)
				}
				if number := ctf.StackOf(ev); i%4 < 2 {
					if f := tr.State.Frames(number); len(f) != 2 || f[1].Function != []string{"main", "serve"}[i%4] {
						t.Fatalf("event %d: the stack is %v", i, f)
					}
				}
			}
			if most > *res.Error {
				t.Errorf("%+v, spacing %d: times are off by up to %d ns, ±%d was stated (rate %g)", c, spacing, most, *res.Error, res.Rate)
			}
			tr.Close()
			babeltrace(t, out, 1600)
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

// babeltrace reads the joined trace as others do.
func babeltrace(t *testing.T, dir string, events int) {
	t.Helper()
	cmd := exec.Command("babeltrace2", dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^.*\{ n = \d+`).FindAll(out, -1)); n != events {
		t.Errorf("babeltrace2 has %d events: %.300s", n, out)
	}
}

// TestMergeWithout pairs: the wall clocks, an offset that is given.
func TestMergeWithout(t *testing.T) {
	x := exchange(t, rand.New(rand.NewPCG(1, 1)), clock{shift: 1000}, 5, 50_000)
	offset := -time.Microsecond
	x.b.Info.Host, x.a.Info.Host = "guest", "host"
	for _, o := range []*Options{{}, {Offset: &offset}} {
		res, err := Merge(filepath.Join(t.TempDir(), "both"), x.a, x.b, o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Error != nil || res.Events != 20 || o.Offset != nil && res.Shift != -1000 || o.Offset == nil && (res.Shift != 0 || !strings.Contains(res.How, "wall clocks")) {
			t.Errorf("%+v", res)
		}
	}
	x.b.Info.Host = "host"
	res, err := Merge(filepath.Join(t.TempDir(), "both"), x.a, x.b, &Options{})
	if err != nil || res.Error == nil || *res.Error != 0 || res.Shift != 0 {
		t.Errorf("one machine: %+v, %v", res, err)
	}
	// The clock was set, or the machine has slept, between the two recordings; or another machine has the name.
	const hour = 3_600_000_000_000
	x.a.Info.Boot, x.b.Info.Boot = "1", "1"
	x.b.Info.WallOffset += hour
	res, err = Merge(filepath.Join(t.TempDir(), "both"), x.a, x.b, &Options{})
	if err != nil || res.Error == nil || *res.Error != 0 || res.Shift != 0 {
		t.Errorf("one machine whose clock was set: %+v, %v", res, err)
	}
	x.b.Info.WallOffset -= hour
	x.b.Info.Boot = "2"
	if res, err = Merge(filepath.Join(t.TempDir(), "both"), x.a, x.b, &Options{}); err != nil || res.Error != nil || !strings.Contains(res.How, "wall clocks") {
		t.Errorf("two machines of one name: %+v, %v", res, err)
	}
}

// TestMergeErrors: pairs that no clocks can have, or of one direction only, are errors, and nothing is left behind.
func TestMergeErrors(t *testing.T) {
	x := exchange(t, rand.New(rand.NewPCG(1, 1)), clock{shift: 1000}, 50, 50_000)
	out := filepath.Join(t.TempDir(), "both")
	for _, tt := range []struct {
		pairs []Pair
		key   string
		want  string
	}{
		{[]Pair{{Send: "recv_a", Receive: "send_b"}, {Send: "recv_b", Receive: "send_a", Back: true}}, "n", "contradict"},
		{messages[:1], "n", "both directions are needed"},
		{messages, "n / 1000", "both directions are needed"},
		{messages, "m", `no field "m"`},
		{[]Pair{{Send: "nowhere", Receive: "recv_b"}}, "n", "no events of this place"},
	} {
		if _, err := Merge(out, x.a, x.b, &Options{Pairs: tt.pairs, Key: tt.key}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.pairs, err, tt.want)
		}
	}
	if left, _ := filepath.Glob(out); left != nil {
		t.Error("a directory is left behind")
	}
}

// TestSolve: the error that is stated holds for random bounds of random clocks.
func TestSolve(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		from, to := int64(1e9), int64(1e9)+1+rnd.Int64N(1e12)
		shift, rate := float64(rnd.Int64N(1e15)-5e14), (rnd.Float64()*2-1)*4e-4
		truth := func(t int64) float64 { return shift + rate*float64(t-from) }
		var b bounds
		for range 1 + rnd.IntN(4000) {
			at := from + rnd.Int64N(to-from)
			b.low = append(b.low, bound{float64(at), math.Floor(truth(at)) - rnd.ExpFloat64()*20_000})
			at = from + rnd.Int64N(to-from)
			b.high = append(b.high, bound{float64(at), math.Ceil(truth(at)) + rnd.ExpFloat64()*20_000})
		}
		r, err := b.solve(from, to)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, at := range []int64{from, (from + to) / 2, to} {
			if off := math.Abs(float64(r.Time(at)-at) - truth(at)); off > float64(*r.Error)+2 {
				t.Errorf("seed %d: off by %g, ±%d was stated", seed, off, *r.Error)
			}
		}
	}
}

// TestMergeAgain: joined traces are joined again, by the clock that they have, with different numbers and names for all threads.
func TestMergeAgain(t *testing.T) {
	exchanged := func() *machines { // the second one's times are small: the joined trace has others
		return exchange(t, rand.New(rand.NewPCG(1, 1)), clock{shift: -4_999_000_000}, 5, 50_000)
	}
	joined := func(a, b *ctf.Trace, want time.Duration) *ctf.Trace {
		t.Helper()
		out := filepath.Join(t.TempDir(), "both")
		res, err := Merge(out, a, b, &Options{})
		if err != nil || res.Error == nil || *res.Error != 0 || time.Duration(res.Shift) != want {
			t.Fatalf("%+v, %v; want %v", res, err, want)
		}
		tr, err := ctf.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tr.Close() })
		return tr
	}
	x, y := exchanged(), exchanged()
	for _, tr := range []*ctf.Trace{x.a, x.b, y.a, y.b} {
		tr.Info.Host, tr.Info.Kernel = "host", "6.1"
	}
	first, _, _ := x.b.Span()
	moved := time.Second - time.Duration(first)
	both, other := joined(x.a, x.b, 0), joined(y.b, y.a, 0)
	for _, c := range []struct {
		a, b    *ctf.Trace
		shift   time.Duration
		threads string
	}{
		{both, y.a, moved, "host.1/client 10, host.2/server 10000010, host.3/client 20000010"},
		{y.a, both, -moved, "host.1/client 10000010, host.2/server 20000010, host.3/client 10"},
		{both, other, moved, "both.1/host.1/client 10, both.1/host.2/server 10000010, both.2/host.1/server 20000010, both.2/host.2/client 30000010"},
	} {
		tr := joined(c.a, c.b, c.shift)
		seen := map[string]bool{}
		it := tr.Events(ctf.Query{})
		for {
			ev, err := it.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprintf("%s %d", ev.Comm, ev.Tid)] = true
			var part *ctf.Joined
			for i := range tr.Info.Joined {
				if ev.CPU == tr.Info.Joined[i].CPUs {
					part = &tr.Info.Joined[i]
				}
			}
			if part == nil || ev.Tid != part.IDs+10 {
				t.Fatalf("CPU %d, thread %d: the parts are %+v", ev.CPU, ev.Tid, tr.Info.Joined)
			}
			at := ev.TimeNS - part.Shift // as it was recorded
			if !slices.ContainsFunc(x.times, func(was int64) bool { return at == was || at == was-4_999_000_000 }) {
				t.Fatalf("an event of %s is at %d", ev.Comm, at)
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(seen)), ", "); got != c.threads {
			t.Errorf("threads\n%s, want\n%s", got, c.threads)
		}
		if n := len(tr.Info.Joined); n != strings.Count(c.threads, ",")+1 || strings.Count(tr.Info.Host, and) != n-1 {
			t.Errorf("%d parts: %s", n, tr.Info.Host)
		}
	}
}
