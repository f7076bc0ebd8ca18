package agentexpr

import (
	"math/rand"
	"os/exec"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestPrinted compares texts with those of printf(1).
func TestPrinted(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []uint64
		texts  map[int]string
		argv   []string // for printf(1); if nil, want is the expected text
		want   string
	}{
		{format: `%d|%5d|%-5d|%05d|%+d`, args: []uint64{7, 7, 7, 7, 7}, argv: []string{"7", "7", "7", "7", "7"}},
		{format: `%ld %lu %lx %#lX %lo`, args: []uint64{^uint64(4), 5, 255, 255, 8}, argv: []string{"-5", "5", "255", "255", "8"}},
		{format: `%s:%8s:%-8s:%.2s`, args: []uint64{1, 2, 3, 4}, texts: map[int]string{0: "a", 1: "bc", 2: "de", 3: "fgh"}, argv: []string{"a", "bc", "de", "fgh"}},
		{format: `100%% \t\"x\" \101\n.`, argv: []string{}},
		{format: `%c%3c`, args: []uint64{'x', 'y'}, argv: []string{"x", "y"}},
		{format: `%d %u %hhd %hu`, args: []uint64{0xffffffff, 0xfffffffffffffffe, 0x1ff, 0x12345}, want: "-1 4294967294 -1 9029"},
		{format: `%p %s %s`, args: []uint64{0x1234, 0, 5}, want: "0x1234 (null) <unreadable address 0x5>"},
	} {
		p := Printed{Format: c.format, Args: c.args, Strings: c.texts}
		if c.argv != nil {
			out, err := exec.Command("/usr/bin/printf", append([]string{c.format}, c.argv...)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			c.want = string(out)
		}
		if got := p.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.format, got, c.want)
		}
	}
	for _, bad := range []string{`%`, `%5`, `%n`, `%f`, `%*d`, `%99999d`, `%l`, `\q`, `x\`, `%5%`, `\777`} {
		if _, err := parseFormat(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// FuzzFormat: any text is a format or is refused; what is accepted can be printed.
func FuzzFormat(f *testing.F) {
	f.Add(`%-8.3s %08lx %% \n`)
	f.Fuzz(func(t *testing.T, format string) {
		list, err := parseFormat(format)
		if err != nil {
			return
		}
		p := Printed{Format: format, Args: make([]uint64, countArgs(list))}
		if got := p.String(); len(got) > (len(format)+1)*(maxWidth+32) {
			t.Errorf("%q gives %d bytes", format, len(got))
		}
	})
}

// TestFrameOfAnything: the traced program can write into the buffer; whatever a
// record holds, it is read without going beyond it.
func TestFrameOfAnything(t *testing.T) {
	var b strings.Builder
	b.WriteString("reg 0; dup; if_goto 8; trace_quick 4; reg 1; reg 2; trace; reg 3; const8 40; tracenz; reg 4; const8 0; const8 0; printf \"%s\", 1 args; getv 1; tracev 1; end")
	code := assemble(t, strings.Replace(b.String(), "if_goto 8", "if_goto 7", 1))
	e, err := Validate(code, ForAction)
	if err != nil {
		t.Fatal(err)
	}
	site := &Site{Actions: []Action{{Kind: CollectRegs, Regs: []int{0, 17, 40, 99}}, {Kind: Evaluate, Expr: e, Value: true}, {Kind: CollectMemory, Base: 7, Len: 24}}}
	_, lay, err := Lower(site, &Options{Var: func(int) (Variable, bool) { return Variable{}, true }})
	if err != nil {
		t.Fatal(err)
	}
	if len(lay.Missing) != 1 || lay.Missing[0] != 99 {
		t.Errorf("missing registers %v", lay.Missing)
	}
	if lay.Frame(make([]byte, lay.RecordSize-1)) != nil {
		t.Error("a short record gives a frame")
	}
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	rec := make([]byte, lay.RecordSize)
	blocks := 0
	for range 2000 {
		r.Read(rec)
		for _, f := range lay.fails {
			if f != 0 && r.Intn(2) == 0 {
				clear(rec[f : f+failSize])
			}
		}
		blocks += len(lay.Frame(rec).Blocks)
	}
	if blocks == 0 {
		t.Error("no blocks")
	}
}
