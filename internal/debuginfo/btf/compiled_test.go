package btf

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

func run(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// clangBTF is the BTF that clang makes of a C file.
func clangBTF(t *testing.T, source string) *Kernel {
	t.Helper()
	obj := filepath.Join(t.TempDir(), "bpf.o")
	run(t, "clang", "-target", "bpf", "-g", "-O1", "-Wno-everything", "-c", "-o", obj, source)
	f, err := elf.Open(obj)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := f.Section(".BTF").Data()
	if err != nil {
		t.Fatal(err)
	}
	return parseRaw(t, raw)
}

// paholeBTF is the BTF that the kernel's build would make of a C file: GCC's
// DWARF converted by pahole.
func paholeBTF(t *testing.T, source string) *Kernel {
	t.Helper()
	dir := t.TempDir()
	run(t, "gcc", "-g", "-gdwarf-5", "-c", "-o", dir+"/x.o", source)
	run(t, "pahole", "-J", "--btf_gen_floats", "--btf_encode_detached="+dir+"/btf", dir+"/x.o")
	raw, err := os.ReadFile(dir + "/btf")
	if err != nil {
		t.Fatal(err)
	}
	return parseRaw(t, raw)
}

func parseRaw(t *testing.T, raw []byte) *Kernel {
	t.Helper()
	k, err := Parse(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func dwarfScope(t *testing.T, compiler, source string) debuginfo.Scope {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "x.so")
	run(t, compiler, "-g", "-shared", "-nostdlib", "-fPIC", "-Wno-everything", "-o", lib, source)
	m, err := dwarf.Open(lib, dwarf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	sites, err := m.FuncEntry("anchor")
	if err != nil || len(sites) != 1 {
		t.Fatalf("anchor: %v, %v", sites, err)
	}
	s, err := m.ScopeForSite(sites[0])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCompiled: the types of a C file are the same by BTF and by the DWARF of the
// same compiler.
func TestCompiled(t *testing.T) {
	const source = "testdata/types.c"
	t.Run("clang", func(t *testing.T) { compareTypes(t, clangBTF(t, source), dwarfScope(t, "clang", source)) })
	t.Run("gcc and pahole", func(t *testing.T) {
		if _, err := exec.LookPath("pahole"); err != nil {
			t.Skipf("the maker of the kernel's BTF is not installed: %v", err)
		}
		compareTypes(t, paholeBTF(t, source), dwarfScope(t, "gcc", source))
	})
}

func compareTypes(t *testing.T, k *Kernel, s debuginfo.Scope) {
	want, err := s.Type(ctype.Struct, "all")
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Type(ctype.Struct, "all")
	if err != nil {
		t.Fatal(err)
	}
	c := comparer{seen: map[[2]*ctype.Type]bool{}}
	c.compare("all", got, want)
	for _, d := range c.diffs {
		t.Error(d)
	}
	if c.n < 75 {
		t.Errorf("only %d types compared", c.n)
	}
}

type comparer struct {
	seen  map[[2]*ctype.Type]bool
	diffs []string
	n     int
}

func (c *comparer) compare(at string, a, b *ctype.Type) {
	if key := [2]*ctype.Type{a, b}; c.seen[key] {
		return
	} else {
		c.seen[key] = true
	}
	c.n++
	a, b = flat(a), flat(b)
	x := fmt.Sprint(a.Kind, " ", baseName(a.Name), " ", a.Size, a.Signed, a.Count, a.Variadic, a.Incomplete)
	y := fmt.Sprint(b.Kind, " ", baseName(b.Name), " ", b.Size, b.Signed, b.Count, b.Variadic, b.Incomplete)
	if x != y {
		c.diffs = append(c.diffs, fmt.Sprintf("%s: BTF %s, DWARF %s", at, x, y))
		return
	}
	if a.Elem != nil {
		c.compare(at+"^", a.Elem, b.Elem)
	}
	if len(a.Params) != len(b.Params) {
		c.diffs = append(c.diffs, at+": parameters differ")
		return
	}
	for i := range a.Params {
		c.compare(fmt.Sprintf("%s(%d)", at, i), a.Params[i], b.Params[i])
	}
	c.fields(at, a.Fields(), b.Fields())
	if e, f := a.Enumerators(), b.Enumerators(); fmt.Sprint(e) != fmt.Sprint(f) {
		c.diffs = append(c.diffs, fmt.Sprintf("%s: BTF %v, DWARF %v", at, e, f))
	}
}

// flat removes differences that BTF does not represent: int a[0] and int a[], and, as pahole writes it, int
// a[2][3] and int a[6].
func flat(t *ctype.Type) *ctype.Type {
	if t.Kind != ctype.Array {
		return t
	}
	if t.Count == 0 {
		return &ctype.Type{Kind: ctype.Array, Elem: t.Elem, Count: -1}
	}
	for t.Elem.Kind == ctype.Array {
		t = ctype.ArrayOf(t.Elem.Elem, t.Count*t.Elem.Count)
	}
	return t
}

// bits of a bit-field; one as wide as its type need not be marked as such.
func bits(f ctype.Field) int64 {
	if f.BitSize == f.Type.Size*8 {
		return 0
	}
	return f.BitSize
}

func (c *comparer) fields(at string, a, b []ctype.Field) {
	if len(a) != len(b) {
		c.diffs = append(c.diffs, fmt.Sprintf("%s: BTF has %d members, DWARF %d", at, len(a), len(b)))
		return
	}
	for i, f := range a {
		g := b[i]
		if f.Name != g.Name || f.BitOffset != g.BitOffset || bits(f) != bits(g) {
			c.diffs = append(c.diffs, fmt.Sprintf("%s: BTF %s @%d:%d, DWARF %s @%d:%d", at, f.Name, f.BitOffset, f.BitSize, g.Name, g.BitOffset, g.BitSize))
			continue
		}
		c.compare(at+"."+f.Name, f.Type, g.Type)
	}
}
