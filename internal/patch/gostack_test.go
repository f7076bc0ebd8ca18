package patch

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/pclntab"
)

const goProgram = `package main

import (
	"fmt"
	"net/http"
)

//go:nosplit
//go:noinline
func deep(a [48]int) int { return deeper(a) + a[1] }

//go:nosplit
//go:noinline
func deeper(a [48]int) int { return a[len(args)%48] }

var args = []int{1}

func main() {
	fmt.Println(deep([48]int{3}), http.StatusOK)
}
`

// goFile builds a Go program; notes is what the linker says of functions without a check.
func goFile(t testing.TB, flags ...string) (bin string, notes []byte) {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte(goProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(dir, "main")
	cmd := exec.Command("go", append(append([]string{"build", "-o", bin, "-ldflags=-debugnosplit"}, flags...), src)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	notes, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, notes)
	}
	return bin, notes
}

func goStackOf(t testing.TB, bin string) (g *GoStack, names map[string]uint64) {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var table []byte
	for _, s := range f.Sections {
		if strings.HasSuffix(s.Name, ".gopclntab") {
			if table, err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := pclntab.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = NewGoStack(opened, Region{Addr: text.Addr, Bytes: code}, text.Addr); err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]uint64{}
	twice := map[string]bool{}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			twice[s.Name] = twice[s.Name] || names[s.Name] != 0
			names[s.Name] = s.Value
		}
	}
	for n := range twice {
		if twice[n] {
			delete(names, n)
		}
	}
	return g, names
}

// linkerRooms computes what each function has when it is entered from the calls that
// Go's linker lists: "nosplit: f<1> +24 -> g<1>".
func linkerRooms(t testing.TB, notes []byte) map[string]int64 {
	type edge struct {
		from, to string
		growth   int64
	}
	var edges []edge
	room := map[string]int64{}
	for sc := bufio.NewScanner(bytes.NewReader(notes)); sc.Scan(); {
		line, ok := strings.CutPrefix(sc.Text(), "nosplit: ")
		if !ok {
			continue
		}
		from, rest, _ := strings.Cut(line, " +")
		amount, to, called := strings.Cut(rest, " -> ")
		e := edge{from: from, to: to}
		if _, err := fmt.Sscan(amount, &e.growth); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		room[from] = goLimit - 8
		if called && to != "indirect" {
			room[to] = goLimit - 8
			edges = append(edges, e)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
			if r := room[e.from] - e.growth; r < room[e.to] {
				room[e.to], changed = r, true
			}
		}
	}
	return room
}

// TestGoStackAgainstLinker compares with the Go linker's call graph. No function may be assumed to have
// more stack than its call chains leave; most must have exactly as much.
func TestGoStackAgainstLinker(t *testing.T) {
	bin, notes := goFile(t)
	g, names := goStackOf(t, bin)
	var same, less int
	for name, want := range linkerRooms(t, notes) {
		name, version, _ := strings.Cut(name, "<")
		addr := names[name]
		if abi0 := names[name+".abi0"]; abi0 != 0 && version == "0>" {
			addr = abi0
		}
		if addr == 0 {
			continue // two of that name
		}
		got, known := g.Room(addr)
		if i := g.at(addr); i >= 0 && g.funcs[i].check >= 0 {
			want = min(want, g.indirect)
		}
		switch {
		case !known:
			t.Errorf("%s at %#x is not in the table", name, addr)
		case got > want+24: // the linker treats a jump to another function as a call
			t.Errorf("%s: %d bytes, by the linker %d", name, got, want)
		case got >= want:
			same++
		default:
			less++
		}
	}
	if same < 1000 || less > same/10 {
		t.Errorf("%d functions have what the linker finds, %d less", same, less)
	}
	if r, _ := g.Room(names["main.deeper"]); r > goLimit-400 {
		t.Errorf("main.deeper has %d bytes", r)
	}
	t.Logf("%d functions as the linker finds, %d less; %d bytes at indirect calls", same, less, g.indirect)
}

// TestGoStackBody: after its check a function has the room that the check requires.
func TestGoStackBody(t *testing.T) {
	bin, _ := goFile(t)
	g, names := goStackOf(t, bin)
	checked := 0
	for _, addr := range names {
		i := g.at(addr)
		if i < 0 {
			continue
		}
		f := &g.funcs[i]
		for _, x := range f.deltas {
			if r, _ := g.Room(x.Hi - 1); f.check >= 0 && !f.asm && x.Value > 0 {
				if r < goLimit || r != goLimit+f.max-x.Value && r != goGuard-x.Value {
					t.Fatalf("function %#x: %d bytes after %d of %d", addr, r, x.Value, f.max)
				}
				checked++
			}
		}
	}
	if checked < 5000 {
		t.Errorf("%d stretches of code", checked)
	}
}

// TestGoStackDamaged: tables are a file's, and may be anything.
func TestGoStackDamaged(t *testing.T) {
	bin, _ := goFile(t)
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	for at := range 200 { // the header, and places further on
		b := bytes.Clone(table)
		if at >= 100 {
			at = (at - 100) * (len(b) / 100)
		}
		for k := at; k < min(at+8, len(b)); k++ {
			b[k] ^= 0xff
		}
		for _, b := range [][]byte{b, b[:at]} {
			if opened, err := pclntab.Open(b); err == nil {
				_, _ = NewGoStack(opened, Region{Addr: text.Addr, Bytes: code[:min(len(code), 1<<16)]}, 0)
			}
		}
	}
}
