package dwarf

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// stop is one record of testdata/dump.py.
type stop struct {
	PC, Bias, CFA uint64
	Func          string
	Regs          map[string]uint64
	Vars          map[string]gdbValue
	Mem           [][2]any
}

type gdbValue struct {
	Addr       *uint64
	Int, Float string
	Out        bool
	Err        string
}

var regNames = []string{
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
}

func (s *stop) read(addr uint64, n int) ([]byte, error) {
	for _, m := range s.Mem {
		lo, _ := m[0].(json.Number).Int64()
		b, _ := hex.DecodeString(m[1].(string))
		if addr >= uint64(lo) && addr+uint64(n) <= uint64(lo)+uint64(len(b)) {
			return b[addr-uint64(lo):][:n], nil
		}
	}
	return nil, fmt.Errorf("no memory at %#x", addr)
}

// errNone: the caller does not have what the function was entered with.
var errNone = errors.New("no value from this caller")

// eval runs a location expression: the meaning that debuginfo.OpCode documents.
func (s *stop) eval(expr []debuginfo.Op) (uint64, error) {
	var st []uint64
	pop := func() uint64 { v := st[len(st)-1]; st = st[:len(st)-1]; return v }
	for i := 0; i < len(expr); i++ {
		o := expr[i]
		switch o.Code {
		case debuginfo.OpSkip:
			i = int(o.Arg) - 1
		case debuginfo.OpBra:
			if pop() != 0 {
				i = int(o.Arg) - 1
			}
		case debuginfo.OpNone:
			return 0, errNone
		case debuginfo.OpDrop:
			pop()
		case debuginfo.OpConst:
			st = append(st, uint64(o.Arg))
		case debuginfo.OpAddr:
			st = append(st, uint64(o.Arg)+s.Bias)
		case debuginfo.OpReg:
			st = append(st, s.Regs[regNames[o.Arg]])
		case debuginfo.OpTLS:
			return 0, fmt.Errorf("tls")
		case debuginfo.OpDeref:
			b, err := s.read(pop(), int(o.Arg))
			if err != nil {
				return 0, err
			}
			st = append(st, littleEndian(b))
		case debuginfo.OpAddConst:
			st = append(st, pop()+uint64(o.Arg))
		case debuginfo.OpConvert:
			v := pop()
			switch o.Arg {
			case 1, 2, 4:
				v &= 1<<(8*o.Arg) - 1
			case -1:
				v = uint64(int64(int8(v)))
			case -2:
				v = uint64(int64(int16(v)))
			case -4:
				v = uint64(int64(int32(v)))
			}
			st = append(st, v)
		case debuginfo.OpNeg:
			st = append(st, -pop())
		case debuginfo.OpNot:
			st = append(st, ^pop())
		case debuginfo.OpDup:
			st = append(st, st[len(st)-1])
		default:
			b, a := pop(), pop()
			switch o.Code {
			case debuginfo.OpAdd:
				a += b
			case debuginfo.OpSub:
				a -= b
			case debuginfo.OpMul:
				a *= b
			case debuginfo.OpAnd:
				a &= b
			case debuginfo.OpOr:
				a |= b
			case debuginfo.OpXor:
				a ^= b
			case debuginfo.OpShl:
				a <<= b
			case debuginfo.OpShr:
				a >>= b
			case debuginfo.OpShra:
				a = uint64(int64(a) >> b)
			case debuginfo.OpDiv:
				a = uint64(int64(a) / int64(b))
			case debuginfo.OpEq:
				a = map[bool]uint64{true: 1}[a == b]
			case debuginfo.OpLt:
				a = map[bool]uint64{true: 1}[int64(a) < int64(b)]
			default:
				return 0, fmt.Errorf("operation %d", o.Code)
			}
			st = append(st, a)
		}
	}
	return pop(), nil
}

func littleEndian(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// bytes assembles a value of at most 8 bytes.
func (s *stop) bytes(v *debuginfo.Variable) ([]byte, error) {
	size := v.Type.Strip().Size
	var out []byte
	for _, p := range v.Loc.Pieces {
		n := p.BitSize / 8
		if p.BitSize == 0 {
			n = size
		}
		var b []byte
		switch p.Kind {
		case debuginfo.InMemory:
			a, err := s.eval(p.Expr)
			if err != nil {
				return nil, err
			}
			if b, err = s.read(a, int(n)); err != nil {
				return nil, err
			}
		case debuginfo.InRegister:
			if p.Reg > 16 {
				return nil, fmt.Errorf("vector register")
			}
			b = binary.LittleEndian.AppendUint64(nil, s.Regs[regNames[p.Reg]])
		case debuginfo.IsValue:
			a, err := s.eval(p.Expr)
			if err != nil {
				return nil, err
			}
			b = binary.LittleEndian.AppendUint64(nil, a)
		case debuginfo.IsBytes:
			b = p.Bytes
		case debuginfo.IsMissing:
			return nil, fmt.Errorf("missing piece")
		}
		if int64(len(b)) < n {
			return nil, fmt.Errorf("short piece")
		}
		out = append(out, b[:n]...)
	}
	return out, nil
}

func show(t *ctype.Type, b []byte) gdbValue {
	t = t.Strip()
	u := littleEndian(b)
	switch {
	case t.Kind == ctype.Float && t.Size == 4:
		return gdbValue{Float: hexFloat(float64(math.Float32frombits(uint32(u))))}
	case t.Kind == ctype.Float:
		return gdbValue{Float: hexFloat(math.Float64frombits(u))}
	case t.Signed:
		sh := 64 - 8*t.Size
		return gdbValue{Int: strconv.FormatInt(int64(u<<sh)>>sh, 10)}
	}
	return gdbValue{Int: strconv.FormatUint(u, 10)}
}

func hexFloat(f float64) string {
	return strconv.FormatFloat(f, 'x', -1, 64)
}

// TestValuesAgreeWithGDB stops a program at many places under GDB and compares
// every variable's value and the frame address with ours.
func TestValuesAgreeWithGDB(t *testing.T) {
	for _, v := range variants {
		if v.cc == "clang" && strings.Contains(v.flags, "-gdwarf-5 -gsplit-dwarf") {
			continue // GDB 13 finds none of clang's split location lists; see TestSplit
		}
		t.Run(v.String(), func(t *testing.T) {
			prog := build(t, v, "prog.c", "other.c")
			m := open(t, prog)
			stops := dump(t, m, prog)
			tally := map[string]int{}
			for _, s := range stops {
				if strings.Contains(v.flags, "-flto") {
					delete(s.Vars, "file_static") // GDB shows that of any file; see TestLTO
				}
				compareStop(t, m, s, tally)
			}
			t.Log(len(stops), "stops", tally)
			if tally["same"] < 100 {
				t.Errorf("only %d values compared", tally["same"])
			}
		})
	}
}

func dump(t *testing.T, m *Module, prog string) (out []*stop) {
	t.Helper()
	seen := map[uint64]bool{}
	var list []string
	add := func(a uint64) {
		if !seen[a] {
			seen[a] = true
			list = append(list, fmt.Sprintf("%#x", a))
		}
	}
	for _, f := range []string{"prog.c", "other.c", "shared.h"} {
		if len(m.Lines(f)) == 0 {
			t.Errorf("no lines in %s", f)
		}
		for _, l := range m.Lines(f) {
			sites, err := m.LineSites(f, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sites {
				if !m.IsCode(s.Addr) {
					t.Errorf("%s:%d: the site %#x is not code", f, l, s.Addr)
				}
				add(s.Addr)
			}
		}
	}
	for _, f := range []string{"count_to", "walk", "choose", "mixed", "checked", "other", "vla"} {
		e, _ := m.FuncEntry(f) // none when it was inlined everywhere
		for _, s := range e {
			add(s.Addr)
		}
	}
	main, _ := m.FuncEntry("main")
	lo, hi := ^uint64(0), uint64(0)
	for _, s := range m.Segments() {
		if s.Write {
			lo, hi = min(lo, s.Vaddr), max(hi, s.Vaddr+s.Memsz)
		}
	}
	res := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", "testdata/dump.py", prog)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=", "OUT="+res, "ADDRS="+strings.Join(list, ","),
		fmt.Sprintf("MAIN=%#x", main[0].Addr), fmt.Sprintf("DATA=%#x,%#x", lo, hi-lo))
	log, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, log)
	}
	f, err := os.Open(res)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		d := json.NewDecoder(strings.NewReader(sc.Text()))
		d.UseNumber()
		s := &stop{}
		if err := d.Decode(s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		t.Fatalf("GDB stopped nowhere: %s", log)
	}
	return out
}

// fileLevel are the names that dump.py adds.
var fileLevel = map[string]bool{
	"global_array": true, "ratio": true, "truth": true, "sink": true, "per_thread": true,
	"shared_counter": true, "hidden": true, "greeting": true, "file_static": true,
}

// frameless reports whether GDB cannot show a variable at a function's first instruction: it shows what is in the frame
// that the function has not made yet, or, where clang's frame base is a register, in the caller's frame.
func frameless(t *testing.T, v *debuginfo.Variable) bool {
	why := v.Loc.Unavailable
	return why == NotStored || why == NotBegun || v.Kind == debuginfo.Param && (strings.Contains(t.Name(), "-O0") || strings.Contains(t.Name(), "clang"))
}

func compareStop(t *testing.T, m *Module, s *stop, tally map[string]int) {
	t.Helper()
	sc, err := m.ScopeAt(s.PC)
	if err != nil {
		t.Errorf("ScopeAt(%#x): %v", s.PC, err)
		return
	}
	if sc.FuncName() != s.Func {
		t.Errorf("%#x: function %s, GDB has %s", s.PC, sc.FuncName(), s.Func)
	}
	if cfa, err := s.eval(sc.CFA()); err != nil || cfa != s.CFA {
		t.Errorf("%#x: CFA %#x (%v), GDB has %#x", s.PC, cfa, err, s.CFA)
	}
	listed := map[string]bool{}
	for _, v := range append(sc.Args(), sc.Locals()...) {
		listed[v.Name] = true
	}
	for name := range s.Vars {
		if !listed[name] && !fileLevel[name] {
			t.Errorf("%#x (%s): GDB has the local %s, we do not list it", s.PC, s.Func, name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("%#x (%s): we list the local %s, GDB does not have it", s.PC, s.Func, name)
	}
	for name, want := range s.Vars {
		v, err := sc.Lookup(name)
		if err != nil {
			t.Errorf("%#x: %s: %v", s.PC, name, err)
			continue
		}
		at := fmt.Sprintf("%#x (%s): %s", s.PC, s.Func, name)
		if v, ok := sc.(*scope); ok && v.twice(name) {
			tally["two entries"]++ // GDB takes the first, whose value is stale
			continue
		}
		if v, ok := sc.(*scope); ok && v.hasLater(name) {
			tally["declared later"]++ // GDB goes by blocks only
			continue
		}
		if f, ok := m.FunctionAt(s.PC); ok && f.Lo == s.PC && frameless(t, v) {
			tally["not stored yet"]++ // GDB shows what is in the frame; the test TestPassed has the values
			continue
		}
		switch {
		case want.Err != "":
			tally["gdb error"]++
		case v.Loc.Unavailable != "":
			if !want.Out && !strings.Contains(v.Loc.Unavailable, "entry_value") {
				t.Errorf("%s: unavailable (%s), GDB has %+v", at, v.Loc.Unavailable, want)
			}
			tally["out"]++
		default:
			compareValue(t, at, s, v, want, tally)
		}
	}
}

// twice reports whether the concrete function has two entries for one variable.
func (s *scope) twice(name string) bool {
	n := 0
	if s.b != nil {
		for c := range s.b.owner().d.children() {
			if c.name() == name && (c.ab.tag == tagFormalParameter || c.ab.tag == tagVariable) {
				n++
			}
		}
	}
	return n > 1
}

func compareValue(t *testing.T, at string, s *stop, v *debuginfo.Variable, want gdbValue, tally map[string]int) {
	t.Helper()
	if want.Int == "" && want.Float == "" {
		if want.Addr != nil && len(v.Loc.Pieces) == 1 && v.Loc.Pieces[0].Kind == debuginfo.InMemory {
			if a, err := s.eval(v.Loc.Pieces[0].Expr); err == nil && a != *want.Addr {
				t.Errorf("%s: at %#x, GDB has %#x", at, a, *want.Addr)
			}
			tally["addr"]++
			return
		}
		if want.Out {
			for _, p := range v.Loc.Pieces {
				if p.Kind == debuginfo.IsMissing {
					tally["out"]++
					return
				}
			}
			if _, err := s.bytes(v); errors.Is(err, errNone) {
				tally["out"]++
				return
			}
			t.Errorf("%s: we have %+v, GDB says optimized out", at, v.Loc)
		}
		tally["other"]++
		return
	}
	b, err := s.bytes(v)
	if err != nil {
		tally[err.Error()]++
		return
	}
	got := show(v.Type, b)
	if f, err := strconv.ParseFloat(want.Float, 64); err == nil {
		want.Float = hexFloat(f)
	}
	if got.Int != want.Int || got.Float != want.Float {
		t.Errorf("%s: %+v, GDB has %+v; location %+v", at, got, want, v.Loc)
		return
	}
	tally["same"]++
}

// hasLater: a local variable of that name is declared after the place.
func (s *scope) hasLater(name string) bool {
	for _, b := range s.chain() {
		if d, ok := b.declares(name); ok && s.declaredLater(d) {
			return true
		}
	}
	return false
}
