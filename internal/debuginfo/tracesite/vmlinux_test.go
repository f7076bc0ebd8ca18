package tracesite

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

func vmlinux(t testing.TB) string {
	t.Helper()
	p := os.Getenv("JALON_VMLINUX")
	if p == "" {
		t.Skip("JALON_VMLINUX does not name a kernel image with debug information")
	}
	return p
}

// TestVmlinuxTable compares the sites with the image's relocations, which name
// the tracepoint of each entry of the jump table.
func TestVmlinuxTable(t *testing.T) {
	path := vmlinux(t)
	begin := time.Now()
	sites := find(t, path)
	t.Logf("%d sites in %.1f ms", len(sites.List), float64(time.Since(begin).Microseconds())/1000)
	e, err := stdelf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	syms, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var start, stop uint64
	for _, s := range syms {
		switch s.Name {
		case startSymbol:
			start = s.Value
		case stopSymbol:
			stop = s.Value
		}
	}
	want := map[string]int{}
	total := 0
	for _, s := range e.Sections {
		if s.Type != stdelf.SHT_RELA || strings.Contains(s.Name, "debug") {
			continue
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(b) >= 24; b = b[24:] {
			off, info := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			if off < start || off >= stop || (off-start)%entrySize != 8 {
				continue
			}
			if i := int(info>>32) - 1; i >= 0 && i < len(syms) {
				if n, ok := strings.CutPrefix(syms[i].Name, tracepointPrefix); ok {
					want[n]++
					total++
				}
			}
		}
	}
	if total == 0 {
		t.Skip("the image has no relocations to compare with")
	}
	got := map[string]int{}
	tests, refused, none := 0, map[string]int{}, 0
	for _, s := range sites.List {
		got[s.Event]++
		if s.Enabled() {
			tests++
		}
		refused[s.NoProbe]++
		if s.Function == "" {
			none++
		}
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("%s: %d sites, the relocations have %d", n, got[n], want[n])
		}
	}
	if len(got) != len(want) || none > 0 {
		t.Errorf("%d events, the relocations have %d; %d sites without a function", len(got), len(want), none)
	}
	t.Logf("%d events, %d sites, %d of them tests of trace_X_enabled(); refused: %v", len(got), len(sites.List), tests, refused)
}

// TestVmlinuxCode compares sites with objdump's text of their functions.
func TestVmlinuxCode(t *testing.T) {
	path := vmlinux(t)
	sites := find(t, path)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for i, s := range sites.List {
		named := s.Event == "sched_switch" || s.Event == "sched_wakeup" || s.Event == "sys_enter" || s.Event == "sched_process_exec"
		if !named && i%25 != 0 {
			continue
		}
		text := map[uint64]string{}
		for _, at := range []uint64{s.Nop, s.Branch} { // the branch may be in another part
			fn, end, ok := f.FuncAt(at)
			if !ok {
				t.Errorf("%+v: no function at %#x", s, at)
			}
			for a, x := range objdump(t, path, fmt.Sprintf("--start-address=%#x", fn.Value), fmt.Sprintf("--stop-address=%#x", end)) {
				text[a] = x
			}
		}
		checkCode(t, s, text)
		n++
	}
	t.Log(n, "sites compared")
	for event, want := range map[string][]string{"sched_switch": {"__schedule"}, "sys_enter": {"syscall_trace_enter.constprop.0"}} {
		var got []string
		for _, s := range sites.Of(event) {
			got = append(got, s.Function)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Logf("%s is called by %v; in Debian's 6.1 cloud kernel by %v", event, got, want)
		}
		if len(got) == 0 {
			t.Errorf("%s is never called", event)
		}
	}
}

// TestVmlinuxWithoutTable hides the jump table: disassembly finds the same calls.
func TestVmlinuxWithoutTable(t *testing.T) {
	path := vmlinux(t)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	with := find(t, path)
	k := newKernel(f)
	begin := time.Now()
	list := k.fromCode()
	took := time.Since(begin)
	branch := map[uint64]uint64{}
	for _, s := range list {
		branch[s.Call] = s.Branch
	}
	calls, same, missing := map[uint64]bool{}, map[uint64]bool{}, 0
	for _, s := range with.List {
		if s.Enabled() {
			continue
		}
		calls[s.Call] = true
		b, ok := branch[s.Call]
		if !ok {
			missing++
			t.Errorf("%+v is not found", s)
		}
		if b == s.Branch {
			same[s.Call] = true
		}
	}
	t.Logf("%d calls in the table's branches, %d by disassembly in %v: %d missing, %d with the same beginning", len(calls), len(list), took, missing, len(same))
	if len(same)*100 < len(calls)*99 {
		t.Errorf("only %d of %d branches begin at the same place", len(same), len(calls))
	}
}

var (
	scopeSymbol = regexp.MustCompile(`^Symbol (\w+) is (.*)`)
	scopeRange  = regexp.MustCompile(`Range (0x[0-9a-f]+)-(0x[0-9a-f]+): (.*)`)
)

// gdbPlaces asks GDB where the variables of a function are at pc.
func gdbPlaces(t *testing.T, path, function string, pc uint64) map[string]string {
	t.Helper()
	out := command(t, "gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "info scope "+function, path)
	places, name := map[string]string{}, ""
	for _, l := range strings.Split(out, "\n") {
		if m := scopeSymbol.FindStringSubmatch(l); m != nil {
			name = m[1]
		}
		if m := scopeRange.FindStringSubmatch(l); m != nil {
			lo, _ := strconv.ParseUint(m[1], 0, 64)
			hi, _ := strconv.ParseUint(m[2], 0, 64)
			if pc >= lo && pc < hi {
				places[name] = m[3]
			}
		}
	}
	return places
}

// TestVmlinuxLocals looks at the variables of __schedule where sched_switch is
// recorded, and counts how many variables the callers of all events have there.
func TestVmlinuxLocals(t *testing.T) {
	path := vmlinux(t)
	sites := find(t, path)
	m, err := dwarf.Open(path, dwarf.Options{CacheDir: filepath.Join(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	of := sites.Of("sched_switch")
	if len(of) == 0 {
		t.Fatal("sched_switch is never called")
	}
	s := of[0]
	sc, err := m.ScopeAround(s.Branch, s.Inlined()...)
	if err != nil || sc.FuncName() != "__schedule" {
		t.Fatalf("scope of %q: %v", sc.FuncName(), err)
	}
	gdb := gdbPlaces(t, path, "__schedule", s.Branch)
	registers := 0
	for _, name := range []string{"prev", "next", "prev_state", "rq", "sched_mode"} {
		v, err := sc.Lookup(name)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s at %#x: %+v; GDB: %s", name, s.Branch, v.Loc, gdb[name])
		if len(v.Loc.Pieces) != 1 {
			t.Errorf("%s has no place: %+v", name, v.Loc)
			continue
		}
		if reg, ok := strings.CutPrefix(gdb[name], "a variable in $"); ok {
			registers++
			if p := v.Loc.Pieces[0]; p.Kind != debuginfo.InRegister || gdbRegs[p.Reg] != reg {
				t.Errorf("%s: %+v, GDB has %s", name, p, reg)
			}
		}
	}
	if registers < 2 {
		t.Errorf("GDB had only %d variables in registers", registers)
	}
	total, placed, scopes := 0, 0, 0
	for i, s := range sites.List {
		if s.Enabled() || i%10 != 0 {
			continue
		}
		sc, err := m.ScopeAround(s.Branch, s.Inlined()...)
		if err != nil {
			t.Errorf("%+v: %v", s, err)
			continue
		}
		if strings.HasPrefix(sc.FuncName(), "trace_") {
			t.Errorf("%+v: scope of %s", s, sc.FuncName())
		}
		scopes++
		for _, v := range append(sc.Args(), sc.Locals()...) {
			if total++; v.Loc.Unavailable == "" {
				placed++
			}
		}
	}
	t.Logf("%d sites: %d of %d parameters and locals of the callers have values there", scopes, placed, total)
	if placed*2 < total {
		t.Errorf("only %d of %d variables", placed, total)
	}
}

// TestVmlinuxSystemMap checks that the image is linked where its map says, so
// that the offset of a running kernel can be worked out from _text.
func TestVmlinuxSystemMap(t *testing.T) {
	path := vmlinux(t)
	b, err := exec.Command("nm", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, n := range []string{"_text", "_stext"} {
		s := f.Lookup(n)
		if len(s) != 1 || !bytes.Contains(b, []byte(fmt.Sprintf("%016x T %s\n", s[0].Value, n))) {
			t.Errorf("%s: %+v", n, s)
		}
	}
}
