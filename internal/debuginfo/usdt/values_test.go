package usdt

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// place is the input of testdata/stop.py for one probe.
type place struct {
	PC     uint64
	Exprs  []string
	Expect bool
}

// stopped is the output of one stop.
type stopped struct {
	PC                       uint64
	Argc                     string
	Own, Ours, Expect, Float []string
}

// gdbName is how GDB spells a type that needs no debug information.
var gdbName = map[string]string{
	"int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
	"int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
	"float": "unsigned int", "double": "unsigned long", // their bits: GDB's casts would convert
}

var gdbRegs = []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// expression writes a location as GDB's expression of the value, "" when it
// cannot be written (thread-local data need libthread_db).
func expression(v *debuginfo.Variable) string {
	if len(v.Loc.Pieces) != 1 {
		return ""
	}
	p, typ := v.Loc.Pieces[0], gdbName[v.Type.Name]
	switch p.Kind {
	case debuginfo.InRegister:
		reg := "$" + gdbRegs[p.Reg]
		if p.BitOffset != 0 {
			reg = fmt.Sprintf("(unsigned long)%s >> %d", reg, p.BitOffset)
		}
		return fmt.Sprintf("(%s)(%s)", typ, reg)
	case debuginfo.IsValue:
		return fmt.Sprintf("(%s)(%s)", typ, stackText(p.Expr))
	case debuginfo.InMemory:
		e := stackText(p.Expr)
		if e == "" {
			return ""
		}
		return fmt.Sprintf("*(%s *)(%s)", typ, e)
	}
	return ""
}

func stackText(list []debuginfo.Op) string {
	var st []string
	pop := func() string { s := st[len(st)-1]; st = st[:len(st)-1]; return s }
	for _, o := range list {
		switch o.Code {
		case debuginfo.OpConst:
			st = append(st, fmt.Sprintf("(long)%d", o.Arg))
		case debuginfo.OpAddr:
			st = append(st, fmt.Sprintf("($bias+%d)", o.Arg))
		case debuginfo.OpReg:
			st = append(st, "(long)$"+gdbRegs[o.Arg])
		case debuginfo.OpAddConst:
			st = append(st, fmt.Sprintf("(%s+(%d))", pop(), o.Arg))
		case debuginfo.OpAdd:
			b, a := pop(), pop()
			st = append(st, fmt.Sprintf("(%s+%s)", a, b))
		case debuginfo.OpMul:
			b, a := pop(), pop()
			st = append(st, fmt.Sprintf("(%s*%s)", a, b))
		case debuginfo.OpShr:
			b, a := pop(), pop()
			st = append(st, fmt.Sprintf("((unsigned long)%s>>%s)", a, b))
		case debuginfo.OpConvert:
			t := map[int64]string{1: "unsigned char", -1: "signed char", 4: "unsigned int"}[o.Arg]
			st = append(st, fmt.Sprintf("(long)(%s)(%s)", t, pop()))
		case debuginfo.OpTLS: // the executable's block ends at the thread pointer
			st = append(st, fmt.Sprintf("($fs_base-$tls+%s)", pop()))
		default:
			return ""
		}
	}
	return pop()
}

// stops runs prog under GDB and stops at all its probes.
func stops(t *testing.T, prog string, expect bool) (probes []Probe, scopes map[uint64]debuginfo.Scope, out []stopped) {
	t.Helper()
	f := open(t, prog)
	probes = read(t, prog)
	scopes = map[uint64]debuginfo.Scope{}
	var places []place
	for i := range probes {
		p := &probes[i]
		sc := NewScope(p, f, true, nil)
		scopes[p.PC] = sc
		pl := place{PC: p.PC, Expect: expect, Exprs: []string{}}
		for _, v := range sc.Args() {
			pl.Exprs = append(pl.Exprs, expression(v))
		}
		places = append(places, pl)
	}
	dir := t.TempDir()
	b, _ := json.Marshal(places)
	if err := os.WriteFile(filepath.Join(dir, "places"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	tls, _ := f.TLS()
	cmd := exec.Command("gdb", "-nx", "-batch", "-ex", fmt.Sprintf("set $tls = %d", tls.Below()), "-x", "testdata/stop.py", prog)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=", "PLACES="+filepath.Join(dir, "places"), "OUT="+filepath.Join(dir, "out"),
		fmt.Sprintf("MAIN=%d", f.Lookup("main")[0].Value))
	log, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, log)
	}
	h, err := os.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	defer h.Close()
	for sc := bufio.NewScanner(h); sc.Scan(); {
		var s stopped
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		t.Fatalf("GDB stopped nowhere:\n%s", log)
	}
	return probes, scopes, out
}

// TestValuesAgree stops at every probe of many builds and compares the arguments
// with what the program says they are, and with GDB's $_probe_argN where GDB
// understands the operand.
func TestValuesAgree(t *testing.T) {
	builds := []struct{ cc, flags string }{
		{"gcc", "-O0"},
		{"gcc", "-O2 -static"},
		{"gcc", "-O3 -march=x86-64-v3"},
		{"gcc", "-Os -fno-pie -no-pie"},
		{"clang", "-O1"},
		{"gcc", "-O1"},
		{"gcc", "-O2"},
		{"gcc", "-O0 -fomit-frame-pointer -mno-red-zone"},
		{"gcc", "-O2 -mcmodel=large"},
		{"gcc", "-x c++ -O2 -fpermissive"},
		{"gcc", `-O2 -DSTAP_SDT_ARG_CONSTRAINT=g`},
		{"clang", "-O0"},
		{"clang", "-O2"},
		{"clang", "-O3 -fno-pie -no-pie"},
	}
	if os.Getenv("JALON_FULL") == "" {
		builds = builds[:5]
	}
	for _, b := range builds {
		t.Run(b.cc+" "+b.flags, func(t *testing.T) {
			probes, scopes, out := stops(t, build(t, b.cc, b.flags, "demo.c"), true)
			kinds := map[string]int{}
			byPC := map[uint64]*Probe{}
			for i := range probes {
				byPC[probes[i].PC] = &probes[i]
			}
			for _, s := range out {
				p := byPC[s.PC]
				if p.Name != "nothing" {
					compareStop(t, p, scopes[s.PC], s, kinds)
				}
			}
			t.Log(len(out), "stops", kinds)
			if kinds["program"] < 100 || kinds["gdb"] < 70 {
				t.Errorf("too few values were compared: %v", kinds)
			}
		})
	}
}

func compareStop(t *testing.T, p *Probe, sc debuginfo.Scope, s stopped, kinds map[string]int) {
	t.Helper()
	for i, v := range sc.Args() {
		at := fmt.Sprintf("%s at %#x, argument %d (%s)", p.Name, s.PC, i, p.Args[i].Text)
		if v.Loc.Unavailable != "" {
			t.Errorf("%s: %s", at, v.Loc.Unavailable)
			continue
		}
		got, want := s.Ours[i], s.Expect[i]
		if v.Type.Kind == ctype.Float {
			got, want = fromBits(got, v.Type.Size), s.Float[i]
		}
		if !same(v.Type, got, want) {
			t.Errorf("%s: %s, the program says %s; location %+v", at, got, want, v.Loc)
		}
		kinds["program"]++
		if strings.HasPrefix(s.Own[i], "error") {
			kinds["not gdb: "+strings.TrimLeft(p.Args[i].Text, "-0123456789f")]++
			continue
		}
		if v.Type.Kind == ctype.Float {
			kinds["gdb float"]++ // GDB 13 takes the suffix f for an integer's
			continue
		}
		if s.Own[i] != got {
			t.Errorf("%s: %s, GDB has %s", at, got, s.Own[i])
		}
		kinds["gdb"]++
	}
	failed := func(s string) bool { return strings.HasPrefix(s, "error") }
	if n := strconv.Itoa(len(sc.Args())); s.Argc != n && !slices.ContainsFunc(s.Own, failed) && !failed(s.Argc) {
		t.Errorf("%s: %s arguments, GDB counts %s", p.Name, n, s.Argc)
	}
}

// same compares the texts of two values; the program's are signed words.
func same(t *ctype.Type, got, want string) bool {
	if t.Kind == ctype.Float {
		return hexValue(got) == hexValue(want)
	}
	if u, err := strconv.ParseUint(got, 10, 64); err == nil {
		got = strconv.FormatInt(int64(u), 10)
	}
	return got == want
}

func hexValue(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// fromBits makes a floating value of the integer with its bits.
func fromBits(s string, size int64) string {
	u, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return s
	}
	f := math.Float64frombits(u)
	if size == 4 {
		f = float64(math.Float32frombits(uint32(u)))
	}
	return strconv.FormatFloat(f, 'x', -1, 64)
}

// TestForms compares operands with what the machine loads from them.
func TestForms(t *testing.T) {
	for _, flags := range []string{"-O1", "-static-pie", "-no-pie -fno-pie -DABSOLUTE"} {
		probes, _, out := stops(t, build(t, "gcc", flags, "forms.c", "forms.S"), false)
		byPC := map[uint64]Probe{}
		for _, p := range probes {
			byPC[p.PC] = p
		}
		if len(out) < 30 || len(out) != len(probes) {
			t.Errorf("%s: %d stops at %d probes", flags, len(out), len(probes))
		}
		for _, s := range out {
			if s.Ours[0] != s.Ours[1] || strings.HasPrefix(s.Ours[0], "error") || s.Ours[0] == "" {
				t.Errorf("%s: %s: %q is loaded as %q", flags, byPC[s.PC].ArgText, s.Ours[1], s.Ours[0])
			}
		}
	}
}
