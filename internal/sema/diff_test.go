package sema

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/x86"
	"github.com/jalon-trace/jalon/test/testkit"
)

const harness = `
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
%s
static sigjmp_buf jb;
static void fpe(int n) { (void)n; siglongjmp(jb, 1); }
static unsigned long x = %d;
static unsigned long rnd(void) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; return x; }
static unsigned long value(void) {
	static const unsigned long edge[] = {0, 1, 2, 3, 7, 127, 128, 255, 256, 32767, 32768, 65535, 65536,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, -1, -2, -3, -128};
	return rnd() %% 2 ? edge[rnd() %% (sizeof edge / sizeof *edge)] : rnd() >> rnd() %% 64;
}
static double real(void) {
	static const double v[] = {0, -0.0, 0.5, 1, -1.5, 3.75, 100.125, -99999.5, 1e6, -7, 12345.678, 1.0 / 3};
	return v[rnd() %% (sizeof v / sizeof *v)];
}
static double special(void) {
	static const double v[] = {0, -0.0, 1e300, -1e300, 1e-320, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1e38, 16777217, 9007199254740993.0};
	return v[rnd() %% (sizeof v / sizeof *v)];
}
static void dump(const char *name, const void *p, unsigned long n) {
	printf("V %%s %%lx ", name, (unsigned long)p);
	for (unsigned long i = 0; i < n; i++) printf("%%02x", ((const unsigned char *)p)[i]);
	puts("");
}
static void out(int n, const char *type, const void *p, unsigned long size) {
	printf("E %%d %%s ", n, type);
	for (unsigned long i = 0; i < size; i++) printf("%%02x", ((const unsigned char *)p)[i]);
	puts("");
}
#define R(n, e) do { if (sigsetjmp(jb, 1)) printf("F %%d\n", n); else { __typeof__(e) v_ = (e); \
	out(n, _Generic(v_, _Bool: "bool", char: "char", signed char: "signed_char", unsigned char: "unsigned_char", \
	short: "short", unsigned short: "unsigned_short", int: "int", unsigned: "unsigned_int", long: "long", \
	unsigned long: "unsigned_long", long long: "long_long", unsigned long long: "unsigned_long_long", \
	float: "float", double: "double", default: "other"), &v_, sizeof v_); } } while (0)
`

// program writes the C side of the test.
func program(w *world, exprs []string, seed int) string {
	var b strings.Builder
	types := worldTypes
	fmt.Fprintf(&b, harness, types, seed)
	for _, v := range w.vars {
		fmt.Fprintf(&b, "%s;\n", v.decl)
	}
	b.WriteString("static void fill(void *p, unsigned long n) { unsigned char *q = p; while (n--) *q++ = rnd(); }\n")
	b.WriteString("static void object(struct S *s) { fill(s, sizeof *s); s->i = value(); s->l = value(); s->b20 = value(); s->f = real(); s->d = real(); s->next = rnd() % 2 ? &st : &sa[rnd() % 2]; }\n")
	b.WriteString("static void setup(void) {\n")
	for _, v := range intVars {
		fmt.Fprintf(&b, "%s = value();\n", v.name)
	}
	b.WriteString("e = rnd() % 4; n = (int)value() % 10; f = real(); d = real(); fx = special(); dx = special();\n")
	b.WriteString("fill(ai, sizeof ai); fill(ac, sizeof ac); fill(as, sizeof as); fill(m, sizeof m); object(&st); object(&sa[0]); object(&sa[1]);\n")
	b.WriteString("pi = &ai[rnd() % 4]; pc = &ac[rnd() % 4]; ps = rnd() % 2 ? &st : sa; pp = &pi; pv = &ai[rnd() % 8];\n")
	for _, v := range w.vars {
		fmt.Fprintf(&b, "dump(\"%s\", &%s, sizeof %s);\n", v.name, v.name, v.name)
	}
	b.WriteString("}\n")
	for i, e := range exprs {
		fmt.Fprintf(&b, "static void e%d(void) { R(%d, (%s)); }\n", i, i, e)
	}
	b.WriteString("int main(void) { signal(SIGFPE, fpe); for (int r = 0; r < 3; r++) { setup();\n")
	for i := range exprs {
		fmt.Fprintf(&b, "e%d();\n", i)
	}
	b.WriteString("puts(\"END\"); } }\n")
	return b.String()
}

// round is one set of values, and what the program computed from them.
type round struct {
	addr map[string]uint64
	data map[string][]byte
	kind map[int]string
	want map[int][]byte
	fpe  map[int]bool
}

func runProgram(t *testing.T, compiler, source string) []round {
	t.Helper()
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "e.c"), filepath.Join(dir, "e")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	// Real division traps are wanted, and wrapping arithmetic: that is what our operations do.
	out, err := exec.Command(compiler, "-O0", "-w", "-fwrapv", "-ffp-contract=off", "-o", exe, src).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	out, err = exec.Command(exe).Output()
	if err != nil {
		t.Fatalf("running the program: %v", err)
	}
	fresh := func() round {
		return round{map[string]uint64{}, map[string][]byte{}, map[int]string{}, map[int][]byte{}, map[int]bool{}}
	}
	var rounds []round
	cur := fresh()
	sc := bufio.NewScanner(strings.NewReader(string(out)))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		switch f[0] {
		case "V":
			cur.addr[f[1]], _ = strconv.ParseUint(f[2], 16, 64)
			cur.data[f[1]], _ = hex.DecodeString(f[3])
		case "E":
			n, _ := strconv.Atoi(f[1])
			cur.kind[n] = strings.ReplaceAll(strings.ReplaceAll(f[2], "_", " "), "bool", "_Bool")
			cur.want[n], _ = hex.DecodeString(f[3])
		case "F":
			n, _ := strconv.Atoi(f[1])
			cur.fpe[n] = true
		case "END":
			rounds = append(rounds, cur)
			cur = fresh()
		}
	}
	return rounds
}

// locate gives every variable a location and makes the machine to match. With
// variant 0 all are in memory; else they are spread over registers, the frame,
// fragments and constants.
func (w *world) locate(rd round, variant int, r *rand.Rand) *eval.Machine {
	m := &eval.Machine{Mem: fakeMemory{}, Wide: &x86.State{}}
	for i := range m.Regs {
		m.Regs[i] = r.Uint64()
	}
	m.Regs[6] = 0x7ffe00001000
	for i := range wide(m).XMM {
		r.Read(wide(m).XMM[i][:])
	}
	reg, xmm := 0, 0
	for _, v := range w.vars {
		addr, data := rd.addr[v.name], rd.data[v.name]
		m.Mem.(fakeMemory)[addr] = data
		piece := []debuginfo.Piece{atAddr(addr - testBias)}
		if variant > 0 && r.Intn(2) == 0 {
			piece = w.scatter(v, addr, data, m, &reg, &xmm, r)
		}
		w.scope.add(v.name, v.t, piece...)
	}
	return m
}

const testBias = 0x10000

// scatter chooses another place for a variable.
func (w *world) scatter(v worldVar, addr uint64, data []byte, m *eval.Machine, reg, xmm *int, r *rand.Rand) []debuginfo.Piece {
	size := len(data)
	num := bitsFrom(data, 0, int64(min(size, 8))*8)
	nextReg := func() int {
		for *reg == 6 || *reg == 7 {
			*reg++
		}
		*reg++
		return *reg - 1
	}
	setReg := func(n int, val uint64, bytes int) {
		if bytes < 8 {
			mask := uint64(1)<<(8*bytes) - 1
			val = m.Regs[n]&^mask | val&mask
		}
		m.Regs[n] = val
	}
	switch k := r.Intn(5); {
	case k == 0 && size <= 8 && *reg < 14 && v.t.Kind != ctype.Float:
		n := nextReg()
		setReg(n, num, size)
		return []debuginfo.Piece{inReg(n)}
	case k <= 1 && v.t.Kind == ctype.Float && *xmm < 16:
		*xmm++
		copy(wide(m).XMM[*xmm-1][:], data)
		return []debuginfo.Piece{inReg(int(processor.Vector0) + *xmm - 1)}
	case k == 1 && size <= 8:
		return []debuginfo.Piece{{Kind: debuginfo.IsValue, Expr: ops(debuginfo.OpConst, int(num))}}
	case k == 2:
		return []debuginfo.Piece{{Kind: debuginfo.IsBytes, Bytes: data}}
	case k == 3: // the frame
		return []debuginfo.Piece{memOps(debuginfo.OpReg, 6, debuginfo.OpConst, int(addr-m.Regs[6]), debuginfo.OpAdd, 0)}
	}
	// Fragments: registers, constants and memory in turn.
	var pieces []debuginfo.Piece
	for at := 0; at < size; {
		n := min(1+r.Intn(7), size-at)
		part := bitsFrom(data, int64(at)*8, int64(n)*8)
		p := debuginfo.Piece{Kind: debuginfo.IsBytes, Bytes: data[at : at+n], BitSize: int64(n) * 8}
		switch k := r.Intn(4); {
		case k == 0 && *reg < 14:
			q := nextReg()
			setReg(q, part, n)
			p = debuginfo.Piece{Kind: debuginfo.InRegister, Reg: q, BitSize: int64(n) * 8}
		case k == 1:
			p = atAddr(addr - testBias + uint64(at))
			p.BitSize = int64(n) * 8
		case k == 2:
			p = debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(debuginfo.OpConst, int(part<<3)), BitOffset: 3, BitSize: int64(min(n, 7)) * 8}
			n = min(n, 7)
		}
		pieces = append(pieces, p)
		at += n
	}
	return pieces
}

// TestDifferential compiles random C expressions with a C compiler and with
// ours, and compares types and values.
func TestDifferential(t *testing.T) {
	count, seed := 2500, testkit.Seed(t, 1)
	if s := os.Getenv("SEMA_EXPRS"); s != "" {
		count, _ = strconv.Atoi(s)
	}
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			g := &gen{r: rand.New(rand.NewSource(seed)), safe: compiler == "clang", wide: compiler == "clang"}
			n := count
			if compiler == "clang" {
				n /= 4
			}
			exprs := make([]string, n)
			for i := range exprs {
				exprs[i] = g.expr()
			}
			w := newWorld()
			d := &differ{t: t, w: w, exprs: exprs}
			for _, rd := range runProgram(t, compiler, program(w, exprs, int(seed)+7)) {
				for variant := range 2 {
					d.round(rd, variant, w.locate(rd, variant, g.r))
				}
			}
			t.Logf("%d values compared, %d faults, %d expressions refused where variables have no address", d.values, d.faults, d.refused)
			if d.undefined > d.values/100 {
				t.Errorf("%d divisions by zero that the compiler did not see", d.undefined)
			}
			if d.values < 3*n {
				t.Errorf("only %d values were compared", d.values)
			}
		})
	}
}

type differ struct {
	t                       *testing.T
	w                       *world
	exprs                   []string
	values, faults, refused int
	undefined               int
}

func (d *differ) round(rd round, variant int, m *eval.Machine) {
	for i, e := range d.exprs {
		out, err := tryCompile(d.w.scope, Input{Bias: testBias}, "", e+" /x")
		if err == nil && variant > 0 && len(out.Missing) > 0 && strings.Contains(out.Missing[0].Msg, "in memory") {
			d.refused++ // the field has the reason
			continue
		}
		if err != nil {
			d.t.Errorf("%s:\n%v", e, err)
			continue
		}
		if err := ir.Check(out.Program); err != nil {
			d.t.Fatalf("%s: %v", e, err)
		}
		r := run(d.t, out, m)
		d.compare(i, rd, r, out)
		if i%8 == 0 {
			checkProgram(d.t, out)
			if diff := r.Diff(run(d.t, out, m).Record, r.Counters); diff != "" {
				d.t.Errorf("%s: optimised: %s", e, diff)
			}
		}
		d.condition(i, rd, m)
		if d.t.Failed() && d.values > 0 && testing.Verbose() {
			d.t.Logf("variant %d\n%s", variant, out.Program)
			d.t.FailNow()
		}
	}
}

func (d *differ) compare(i int, rd round, r result, out *Output) {
	e := d.exprs[i]
	f := &out.Schema.Fields[0]
	if rd.fpe[i] {
		d.faults++
		// The machine traps for MIN/-1 too, which we let wrap.
		if st := r.status(0); st != event.DivideByZero && !strings.ContainsAny(e, "/%") {
			d.t.Errorf("%s: status %d, but the program trapped", e, st)
		}
		return
	}
	if st := r.status(0); st == event.DivideByZero && strings.ContainsAny(e, "/%") {
		d.undefined++ // compilers fold x/x and 0/x as if x were not 0
		return
	} else if st != event.OK {
		d.t.Errorf("%s: status %d, address %#x", e, st, r.faultAddr(0))
		return
	}
	d.values++
	want, got := rd.want[i], r.bytes(0)
	ct := f.Type.Strip()
	if kind := rd.kind[i]; kind != "other" && kind != ct.Name && ct.Kind != ctype.Enum {
		d.t.Errorf("%s: type %s, want %s", e, typeString(f.Type), kind)
	}
	if len(want) != len(got) || string(want) != string(got) && !alike(ct, want, got) {
		d.t.Errorf("%s = % x, want % x (type %s)", e, got, want, typeString(f.Type))
	}
}

// alike allows different NaNs, and different zeros: gcc 12 computes 0.0 - (double)n as -(double)n.
func alike(t *ctype.Type, a, b []byte) bool {
	value := func(b []byte) float64 {
		bits := bitsFrom(b, 0, int64(len(b))*8)
		if len(b) == 4 {
			return float64(math.Float32frombits(uint32(bits)))
		}
		return math.Float64frombits(bits)
	}
	x, y := value(a), value(b)
	return t.Kind == ctype.Float && (x == y || x != x && y != y)
}

// condition checks the same expression as a condition.
func (d *differ) condition(i int, rd round, m *eval.Machine) {
	if rd.fpe[i] {
		return
	}
	out, err := tryCompile(d.w.scope, Input{Bias: testBias}, d.exprs[i], "")
	if err != nil {
		d.t.Errorf("%s as a condition:\n%v", d.exprs[i], err)
		return
	}
	if err := ir.Check(out.Program); err != nil {
		d.t.Fatalf("%s as a condition: %v", d.exprs[i], err)
	}
	r := run(d.t, out, m)
	if r.Counters[1] == 1 && strings.ContainsAny(d.exprs[i], "/%") {
		return // see compare
	}
	want := false
	for _, b := range rd.want[i] {
		want = want || b != 0
	}
	if k := rd.kind[i]; k == "float" || k == "double" { // -0.0
		v := bitsFrom(rd.want[i], 0, int64(len(rd.want[i]))*8)
		want = v<<1 != 0 && k == "double" || uint32(v)<<1 != 0 && k == "float"
	}
	if got := r.Record != nil; got != want || r.Counters[1] != 0 || (r.Counters[0] == 1) == want {
		d.t.Errorf("%s as a condition: %v, counters %v, want %v", d.exprs[i], got, r.Counters, want)
	}
}
