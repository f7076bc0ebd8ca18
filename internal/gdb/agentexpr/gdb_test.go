package agentexpr_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// said is gdb's output at a stop; see testdata/ask.py.
type said struct {
	Registers []word
	Memory    []struct {
		Addr word
		Data string
	}
	Answers []answer
	Tstart  string
}

type answer struct {
	Expr string
	// Eval and Collect are what "maint agent-eval" and "maint agent" say, Printed
	// what printf does.
	Eval, Collect, Printed struct{ Text, Error string }
	Size                   int
	Address                *word
	Value                  *word
	Failed                 string
}

// word is a number that JSON writes as text, so that no digit is lost.
type word uint64

func (w *word) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*w = word(n)
	return err
}

// ask builds the program with flags and lets gdb evaluate exprs at the stop. With traces (lines of a condition,
// a tab and a collect list) gdb uses gdbserver, and ask also returns the packets that were sent.
func ask(t *testing.T, exprs, traces []string, flags ...string) (*said, string) {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	src, err := filepath.Abs("testdata/values.c")
	check(t, err)
	args := append([]string{"-g", "-w", "-o", path("values"), src}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	text, err := os.ReadFile(src)
	check(t, err)
	before, _, _ := strings.Cut(string(text), "// stop")
	check(t, os.WriteFile(path("in"), []byte(strings.Join(exprs, "\n")), 0o600))
	env := append(os.Environ(), "AX_IN="+path("in"), "AX_OUT="+path("out"), "AX_PROGRAM="+path("values"),
		fmt.Sprintf("AX_LINE=values.c:%d", 1+strings.Count(before, "\n")), "DEBUGINFOD_URLS=", "LC_ALL=C")
	if traces != nil {
		check(t, os.WriteFile(path("traces"), []byte(strings.Join(traces, "\n")), 0o600))
		env = append(env, "AX_REMOTE="+path("remote"), "AX_TRACE="+path("traces"))
	}
	cmd := exec.Command("timeout", "120", "gdb", "-l", "60", "-nx", "-q", "-batch", "-x", "testdata/ask.py", path("values"))
	cmd.Env = env
	log, err := cmd.CombinedOutput()
	out, rerr := os.ReadFile(path("out"))
	if rerr != nil {
		t.Fatalf("gdb: %v, %v\n%s", err, rerr, log)
	}
	s := &said{}
	check(t, json.Unmarshal(out, s))
	packets := []byte{}
	if traces != nil {
		packets, err = os.ReadFile(path("remote"))
		check(t, err)
	}
	return s, string(packets)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read implements eval.Memory.
func (s *said) Read(addr uint64, buf []byte) int {
	for _, m := range s.Memory {
		if off := addr - uint64(m.Addr); off < uint64(len(m.Data)/2) {
			n, _ := hex.Decode(buf, []byte(m.Data[2*off:min(uint64(len(m.Data)), 2*(off+uint64(len(buf))))]))
			return n
		}
	}
	return 0
}

// machine is the stop for the evaluator.
func (s *said) machine() *eval.Machine {
	m := &eval.Machine{Mem: s, RecordRoom: true}
	for n, v := range s.Registers {
		for d := range m.Regs {
			if name := ir.RegName(int64(d)); name == agentexpr.Registers[n].Name {
				m.Regs[d] = uint64(v)
			}
		}
	}
	return m
}

// run lowers, optimises and evaluates a site at the stop.
func (s *said) run(t *testing.T, site *agentexpr.Site) (*agentexpr.Frame, eval.Outcome) {
	t.Helper()
	p, lay, err := agentexpr.Lower(site, &agentexpr.Options{})
	if err != nil {
		t.Fatalf("%s: %v", site.Name, err)
	}
	check(t, ir.Optimize(p))
	o := eval.Run(p, s.machine())
	if o.Record == nil {
		return nil, o
	}
	return lay.Frame(o.Record), o
}

func parse(t *testing.T, text string, use agentexpr.Use) *agentexpr.Expr {
	t.Helper()
	list, err := agentexpr.ParseText(text)
	check(t, err)
	e, err := agentexpr.Validate(agentexpr.Encode(list), use)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if again := agentexpr.Text(e.Insns); !strings.HasSuffix(strings.TrimSpace(text), strings.TrimSpace(again)) {
		t.Fatalf("the text is\n%s, gdb's\n%s", again, text)
	}
	return e
}

// TestGDBExpressions: the code that gdb makes of several hundred C expressions,
// lowered and optimised, gives what gdb prints for them, and collects the memory
// that they name. JALON_AX_EXPRS sets how many random ones there are.
func TestGDBExpressions(t *testing.T) {
	exprs := append(append([]string{}, expressions...), randomExpressions(rand.New(rand.NewSource(testkit.Seed(t, 1))), envInt("JALON_AX_EXPRS", 600))...)
	for _, c := range []struct {
		flags []string
		least int // how many of ten expressions must have a value to compare
	}{
		{[]string{"-O0", "-no-pie"}, 9},
		{[]string{"-O0", "-fPIE", "-pie"}, 9},
		{[]string{"-O1", "-fPIE", "-pie"}, 3}, // variables in registers; some are nowhere
	} {
		t.Run(strings.Join(c.flags, ""), func(t *testing.T) {
			s, _ := ask(t, exprs, nil, c.flags...)
			var n tally
			for i := range s.Answers {
				s.compare(t, &s.Answers[i], &n)
			}
			t.Logf("%d expressions: %d refused by gdb; %d values, %d failures, %d blocks of memory", len(exprs), n.refused, n.values, n.failed, n.blocks)
			if n.values < len(exprs)*c.least/10 || n.blocks == 0 || n.failed == 0 {
				t.Error("too little was compared")
			}
		})
	}
}

// tally counts what happened.
type tally struct{ refused, values, failed, blocks int }

// compare evaluates what gdb made of an expression.
func (s *said) compare(t *testing.T, a *answer, n *tally) {
	t.Helper()
	if a.Eval.Error != "" || a.Collect.Error != "" {
		n.refused++ // by gdb
		return
	}
	e := parse(t, a.Eval.Text, agentexpr.ForAction)
	f, _ := s.run(t, &agentexpr.Site{Name: a.Expr, Actions: []agentexpr.Action{{Kind: agentexpr.Evaluate, Expr: e, Value: true}}})
	if a.Value == nil {
		n.failed++
		if len(f.Failures) == 0 {
			t.Errorf("%s: gdb says %q, its code gives %+v", a.Expr, a.Failed, f.Blocks)
		}
		return
	}
	if len(f.Blocks) != 1 {
		t.Errorf("%s: no value: %+v, gdb prints %#x\n%s", a.Expr, f.Failures, *a.Value, a.Eval.Text)
		return
	}
	shift := 64 - 8*min(a.Size, 8)
	if got := f.Blocks[0].Value; got<<shift != uint64(*a.Value)<<shift {
		t.Errorf("%s is %#x, gdb prints %#x\n%s", a.Expr, got, *a.Value, a.Eval.Text)
	}
	n.values++
	n.blocks += s.collects(t, a)
}

// TestGDBPrintf: the texts of printf operations are those that gdb prints.
func TestGDBPrintf(t *testing.T) {
	s, _ := ask(t, printfs, nil, "-O0", "-no-pie")
	for _, a := range s.Answers {
		if a.Eval.Error != "" || a.Printed.Error != "" {
			t.Errorf("%s: gdb says %s %s", a.Expr, a.Eval.Error, a.Printed.Error)
			continue
		}
		e := parse(t, a.Eval.Text, agentexpr.ForAction)
		f, _ := s.run(t, &agentexpr.Site{Name: a.Expr, Actions: []agentexpr.Action{{Kind: agentexpr.Evaluate, Expr: e}}})
		if len(f.Blocks) != 1 || f.Blocks[0].Printed == nil {
			t.Errorf("%s: %+v", a.Expr, f)
			continue
		}
		if got := f.Blocks[0].Printed.String(); got != a.Printed.Text {
			t.Errorf("%s: %q, gdb prints %q", a.Expr, got, a.Printed.Text)
		}
	}
}

// collects checks what the collecting form of an expression takes along.
func (s *said) collects(t *testing.T, a *answer) int {
	t.Helper()
	e := parse(t, a.Collect.Text, agentexpr.ForAction)
	f, _ := s.run(t, &agentexpr.Site{Name: a.Expr, Actions: []agentexpr.Action{{Kind: agentexpr.Evaluate, Expr: e}}})
	there := a.Address == nil
	for _, b := range f.Blocks {
		want := make([]byte, len(b.Data))
		if s.Read(b.Addr, want) != len(want) || string(want) != string(b.Data) {
			t.Errorf("%s: collected %x at %#x, there is %x", a.Expr, b.Data, b.Addr, want)
		}
		there = there || b.Addr == uint64(*a.Address) && len(b.Data) <= a.Size // less: a bit-field
	}
	if !there || len(f.Failures) > 0 {
		t.Errorf("%s: the variable at %#x is not collected: %+v %+v", a.Expr, *a.Address, f.Blocks, f.Failures)
	}
	return len(f.Blocks)
}

// TestGDBPackets: tracepoints as gdb sends them to gdbserver. Their conditions
// hold when gdb prints that they do, and what was listed is collected.
func TestGDBPackets(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 2)))
	conds := randomExpressions(r, envInt("JALON_AX_EXPRS", 600)/10)
	probe, _ := ask(t, conds, nil, "-O0", "-no-pie")
	var traces, good []string
	for _, a := range probe.Answers {
		if a.Eval.Error == "" && a.Value != nil {
			good = append(good, a.Expr)
			traces = append(traces, a.Expr+"\t"+strings.Join(pick(r, collectable, 3), ", "))
		}
	}
	s, packets := ask(t, good, traces, "-O0", "-no-pie")
	if s.Tstart != "" {
		t.Fatalf("tstart: %s", s.Tstart)
	}
	sites := parsePackets(t, packets)
	if len(sites) != len(good) {
		t.Fatalf("%d tracepoints in the packets, not %d", len(sites), len(good))
	}
	hits, blocks, regs := 0, 0, 0
	for i, site := range sites {
		a := &s.Answers[i]
		f, o := s.run(t, site)
		if want := *a.Value<<(64-8*min(a.Size, 8)) != 0; (f != nil) != want || o.Counters[ring.CounterCondFault] != 0 {
			t.Errorf("%s: hit %v, gdb prints %d", a.Expr, f != nil, *a.Value)
		}
		if f == nil {
			site.Cond = nil
			f, _ = s.run(t, site)
		} else {
			hits++
		}
		if len(f.Failures) > 0 {
			t.Errorf("%s: %+v", traces[i], f.Failures)
		}
		for _, b := range f.Blocks {
			want := make([]byte, len(b.Data))
			if s.Read(b.Addr, want) != len(want) || string(want) != string(b.Data) {
				t.Errorf("%s: collected %x at %#x, there is %x", traces[i], b.Data, b.Addr, want)
			}
		}
		for _, x := range f.Regs {
			if x.Num < len(s.Registers) && little(x.Data) != uint64(s.Registers[x.Num])&(1<<(8*len(x.Data)-1)<<1-1) {
				t.Errorf("%s: register %d is %x", traces[i], x.Num, x.Data)
			}
		}
		blocks += len(f.Blocks)
		regs += len(f.Regs)
	}
	t.Logf("%d tracepoints in packets, %d hits, %d blocks of memory, %d registers", len(sites), hits, blocks, regs)
	if hits == 0 || hits == len(sites) || blocks < len(sites) || regs == 0 {
		t.Error("something was not compared")
	}
}

func little(b []byte) (v uint64) {
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

func pick(r *rand.Rand, list []string, n int) []string {
	var out []string
	for range 1 + r.Intn(n) {
		out = append(out, list[r.Intn(len(list))])
	}
	return out
}
