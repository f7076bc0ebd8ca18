package eval

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/x86"
)

// mem is readable from base on.
type mem struct {
	base uint64
	data []byte
}

func (m mem) Read(addr uint64, buf []byte) int {
	off := addr - m.base
	if off >= uint64(len(m.data)) {
		return 0
	}
	return copy(buf, m.data[off:])
}

// machine has rdi = 0x1000, where "hello\0world!" ends the readable memory (12
// bytes), rsi = 0x2000, unreadable, rdx = -2, xmm1 = 00 01 02 ... 0f.
// The upper half of ymm1 is 80 81 ... 8f, the x87 state 00 01 ... 9f.
func machine() *Machine {
	m := &Machine{Mem: mem{0x1000, []byte("hello\x00world!")}, RecordRoom: true}
	w := &x86.State{MXCSR: 0x1f80}
	m.Wide = w
	m.Regs[5], m.Regs[4], m.Regs[1] = 0x1000, 0x2000, ^uint64(1)
	for i := range w.XMM[1] {
		w.XMM[1][i], w.YMMH[1][i] = byte(i), 0x80|byte(i)
	}
	for i := range w.X87 {
		w.X87[i] = byte(i)
	}
	return m
}

const head = "b0:\nv0 = reg rdi\nv1 = reg rsi\nv2 = reg rdx\nreserve 64\n"

// fault is where fault edges of the cases lead: the address goes to offset 56.
const tail = "\njump b2\nb1(v99):\nput.8 @56, v99\njump b2\nb2:\ncommit\nexit"

func execute(t *testing.T, text string, m *Machine) Outcome {
	t.Helper()
	p, err := ir.Parse(text)
	if err == nil {
		err = ir.Check(p)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return Run(p, m)
}

// show writes the fields of a record in hexadecimal; ".." is a byte that is not promised.
func show(o Outcome) string {
	var b strings.Builder
	for i := ir.RecordHeader; i < len(o.Record); i++ {
		if i > ir.RecordHeader && i%8 == 0 {
			b.WriteByte(' ')
		}
		if o.Defined[i] {
			b.WriteString(hex.EncodeToString(o.Record[i : i+1]))
		} else {
			b.WriteString("..")
		}
	}
	return strings.TrimSpace(regexp.MustCompile(`( 0000000000000000)+$`).ReplaceAllString(b.String(), ""))
}

func TestMemoryAndRecord(t *testing.T) {
	const hello, faultAt = "68656c6c6f", " 0020000000000000"
	const none = "0000000000000000"
	for _, c := range []struct{ body, want string }{
		// Loads.
		{"v3 = load.4 v0\nput.8 @24, v3", "68656c6c00000000"},
		{"v3 = load.1s v0+7\nput.8 @24, v3", "6f00000000000000"},
		{"v3 = load.8 v0+4 fault b1\nput.8 @24, v3", "6f00776f726c6421"},
		{"v3 = load.8 v0+5 fault b1\nput.8 @24, v3", none + " " + none + " " + none + " " + none + " 0510000000000000"},
		{"v3 = load.1 v1-1 fault b1\nput.8 @24, v3", none + " " + none + " " + none + " " + none + " ff1f000000000000"},
		{"v3:f32 = fload v0\nfput @24, v3", "68656c6c00000000"},
		{"v3:f64 = fload v0+4\nfput @25, v3", "006f00776f726c64 2100000000000000"},
		{"v3:f64 = fload v0+5 fault b1\nfput @24, v3", none + " " + none + " " + none + " " + none + " 0510000000000000"},

		// Texts.
		{"v3 = streq v0, \"hello\"\nput.1 @24, v3", "0100000000000000"},
		{"v3 = streq v0, \"hell\"\nput.1 @24, v3\nv4 = streq v0, \"hello \"\nput.1 @25, v4", none},
		{"v3 = streq v0+5, \"\"\nput.1 @24, v3", "0100000000000000"},
		{"v3 = streq v0+6, \"world?\" fault b1\nput.1 @24, v3", none},
		{"v3 = streq v0+6, \"world!\" fault b1\nput.1 @24, v3", none + " " + none + " " + none + " " + none + " 0610000000000000"},
		{"v3 = streq v0+6, \"world!?\" fault b1\nput.1 @24, v3", none + " " + none + " " + none + " " + none + " 0610000000000000"},

		// Puts.
		{"put.1 @24, v2\nput.2 @26, v2\nput.4 @28, v2\nput.8 @32, v2", "fe00fefffeffffff feffffffffffffff"},
		{"putreg.16 @24, xmm1\nputreg.1 @40, xmm1\nputreg.2 @44, xmm1", "0001020304050607 08090a0b0c0d0e0f 0000000000010000"},
		{"putreg.16 @24, ymm1h\nputreg.4 @40, mxcsr", "8081828384858687 88898a8b8c8d8e8f 801f000000000000"},
		{"v3:f32 = freg xmm1\nv4:f64 = freg xmm1\nfput @24, v3\nfput @32, v4", "0001020300000000 0001020304050607"},

		// Copies.
		{"copy @24, v0, 12 fault b1", "68656c6c6f00776f 726c642100000000"},
		{"copy @24, v0, 0 fault b1\ncopy @24, v1, 0 fault b1", none},
		{"copy @24, v0, 13 fault b1", "................ .........." + "000000 " + none + " " + none + " 0010000000000000"},
		{"v3 = const 5\ncopyn @24, v0, v3, 8 fault b1", "0500000000000000 " + hello + "......"},
		{"v3 = const 8\ncopyn @24, v0, v3, 8 fault b1", "0800000000000000 68656c6c6f00776f"},
		{"copyn @24, v0, v2, 8 fault b1", "0800000001000000 68656c6c6f00776f"},
		{"v3 = const 0\ncopyn @24, v1, v3, 8 fault b1", "0000000000000000 ................"},
		{"copyn @24, v1, v2, 0 fault b1", "0000000001000000"},
		{"copyn @24, v0, v2, 16 fault b1", "................ ................ ................ " + none + " 0010000000000000"},
		{"copystr.1 @24, v0, 8 fault b1", "0500000000000000 " + hello + "......"},
		{"copystr.1 @24, v0, 5 fault b1", "0500000001000000 " + hello + "000000"},
		{"copystr.1 @24, v0, 3 fault b1", "0300000001000000 68656c0000000000"},
		{"v3 = const 4102\ncopystr.1 @24, v3, 8 fault b1", "0600000002000000 776f726c6421...."},
		{"v3 = const 4102\ncopystr.1 @24, v3, 6 fault b1", "0600000001000000 776f726c64210000"},
		{"v3 = const 4101\ncopystr.1 @24, v3, 8 fault b1", "0000000000000000 ................"},
		{"copystr.1 @24, v1, 8 fault b1", "................ ................ " + none + " " + none + faultAt},
		{"copystr.2 @24, v0, 8 fault b1", "0800000001000000 " + "68656c6c6f00776f"},
		{"v3 = const 4103\ncopystr.2 @24, v3, 8 fault b1", "0400000002000000 6f726c64........"},
		{"v3 = const 4101\ncopystr.4 @24, v3, 8 fault b1", "0400000002000000 00776f72........"},
		{"v3 = const 4105\ncopystr.4 @24, v3, 8 fault b1", "................ ................ " + none + " " + none + " 0910000000000000"},
		{"copystr.1 @24, v1, 0 fault b1", "0000000001000000"},
		{"copymax @24, v0, 16", "0c00000000000000 68656c6c6f00776f 726c6421........"},
		{"copymax @24, v0, 8", "0800000000000000 68656c6c6f00776f"},
		{"copymax @24, v1, 8", "0000000000000000 ................"},

		// What a fault took back, a later put promises again.
		{"copy @48, v0, 1\ncopy @56, v1, 8 fault b1", none + " " + none + " " + none + " 6800000000000000" + faultAt},
	} {
		o := execute(t, head+c.body+tail, machine())
		if got := show(o); got != c.want || o.Exit != Exited {
			t.Errorf("%s\n got %s (%v)\nwant %s", c.body, got, o.Exit, c.want)
		}
	}
}

// TestEndOfMemory: an access does not continue at address 0 after the last byte.
func TestEndOfMemory(t *testing.T) {
	everywhere := &Machine{Mem: all{}, RecordRoom: true}
	o := execute(t, "b0:\nv0 = const -4\nreserve 64\nv1 = load.4 v0 fault b1\nput.4 @24, v1\ncopymax @32, v0, 16\nv2 = load.8 v0 fault b1\njump b2\nb1(v9):\nput.8 @56, v9\njump b2\nb2:\ncommit\nexit", everywhere)
	want := "4141414100000000 0400000000000000 41414141........ ................ fcffffffffffffff"
	if got := show(o); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

type all struct{}

func (all) Read(_ uint64, buf []byte) int {
	for i := range buf {
		buf[i] = 'A'
	}
	return len(buf)
}

func TestEnds(t *testing.T) {
	full := machine()
	full.RecordRoom = false
	o := execute(t, "b0:\ncount 0\nreserve 32\ncommit\ncount 1\nexit", full)
	if o.Exit != Full || o.Record != nil || o.Counters != [4]uint64{1, 0, 1, 0} {
		t.Errorf("full: %+v", o)
	}
	o = execute(t, "b0:\nv0 = reg rsi\ncount 3\nv1 = load.4 v0\ncount 1\nexit", machine())
	if o.Exit != BadAccess || o.Counters != [4]uint64{3: 1} {
		t.Errorf("bad access: %+v", o)
	}
	o = execute(t, "b0:\nv0 = reg rsi\nv1 = load.4 v0\nexit", &Machine{})
	if o.Exit != Exited && o.Exit != BadAccess {
		t.Errorf("no memory: %+v", o)
	}
	o = execute(t, "b0:\nexit", machine())
	if o.Exit != Exited || o.Record != nil {
		t.Errorf("nothing: %+v", o)
	}
	if s := fmt.Sprint(Exited, Full, BadAccess); s != "exited ring full bad access" {
		t.Error(s)
	}
}

// TestEdges: arguments are passed all at once.
func TestEdges(t *testing.T) {
	o := execute(t, `b0:
  v0 = reg rdi
  v1 = reg rsi
  jump b1(v0, v1)
b1(v2, v3):
  brif v2 -> b2(v3, v2) else b2(v2, v2)
b2(v4, v5):
  reserve 40
  put.8 @24, v4
  put.8 @32, v5
  commit
  exit`, machine())
	if got := show(o); got != "0020000000000000 0010000000000000" {
		t.Error(got)
	}
}

// TestVariables: they are set for the hits behind, and the machine's stay.
func TestVariables(t *testing.T) {
	m := machine()
	m.Vars = []uint64{7, 1 << 63}
	o := execute(t, `b0:
  v0 = getvar 0
  addvar 0, v0
  v1 = getvar 0
  setvar 3, v1
  v2 = const -1
  addvar 1, v2
  v3 = getvar 2
  reserve 40
  put.8 @24, v0
  put.8 @32, v3
  commit
  exit`, m)
	if got := show(o); got != "0700000000000000" {
		t.Error(got)
	}
	if got := fmt.Sprint(o.Vars, m.Vars); got != "[14 9223372036854775807 0 14] [7 9223372036854775808]" {
		t.Error(got)
	}
}

// TestX87: head and registers are stored, and of what lies between them and behind
// nothing is promised but what is put there later.
func TestX87(t *testing.T) {
	o := execute(t, "b0:\nv0 = reg ds\nreserve 560\nput.8 @72, v0\nputreg @24, x87\nputreg.4 @184, mxcsr\ncommit\nexit", machine())
	want := "0001020304050607 08090a0b0c0d0e0f 1011121314151617 ................"
	for k := range 8 {
		at := 32 + 16*k
		want += " "
		for i := range 10 {
			if i == 8 {
				want += " "
			}
			want += fmt.Sprintf("%02x", at+i)
		}
		want += "............"
	}
	want += " 801f0000........"
	got := show(o)
	if !strings.HasPrefix(got, want) || strings.Trim(got[len(want):], " .0") != "" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if o.Defined[24+amd64.X87Bytes+4] || o.Defined[24+amd64.X87Slot-1] || !o.Defined[24+amd64.X87Slot] {
		t.Error("the slot has another size")
	}
}

func TestDiff(t *testing.T) {
	o := Outcome{Record: []byte{1, 2}, Defined: []bool{true, false}, Counters: [4]uint64{0, 1}}
	for _, c := range []struct {
		rec  []byte
		cnt  [4]uint64
		want string
	}{
		{[]byte{1, 9}, [4]uint64{0, 1}, ""},
		{[]byte{3, 2}, [4]uint64{0, 1}, "record byte 0 is 0x03, want 0x01"},
		{[]byte{1}, [4]uint64{0, 1}, "record of 1 bytes, want 2"},
		{nil, [4]uint64{0, 1}, "record committed: false, want true"},
		{[]byte{1, 2}, [4]uint64{}, "counters [0 0 0 0], want [0 1 0 0]"},
	} {
		if got := o.Diff(c.rec, c.cnt); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestEveryOperation: exactly one place executes each operation, and the list of operations here is that of the
// source (an operation added after NumOps would not be tested).
func TestEveryOperation(t *testing.T) {
	for op := ir.Invalid + 1; op < ir.NumOps; op++ {
		_, computed := ir.Compute(op, 4, ir.I64, 1, 1)
		_, computedF := ir.Compute(op, 4, ir.F64, 1, 1)
		pure := computed || computedF
		if stepped := steps[op] != nil; stepped == pure {
			t.Errorf("%v: in steps: %v, in ir.Compute: %v", op, stepped, pure)
		}
	}
	src, err := os.ReadFile("../ir.go")
	if err != nil {
		t.Fatal(err)
	}
	body, _, ok := strings.Cut(string(src), "NumOps\n")
	_, body, ok2 := strings.Cut(body, "Invalid Op = iota")
	if !ok || !ok2 {
		t.Fatal("ir.go has another form now; adapt this test")
	}
	names := regexp.MustCompile(`(?m)^\t([A-Z]\w*)\b`).FindAllString(body, -1)
	if len(names) != int(ir.NumOps)-1 {
		t.Errorf("%d operations in the source, %d in the program", len(names), ir.NumOps-1)
	}
}
