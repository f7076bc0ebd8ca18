package dwarf

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

var typeNames = []struct {
	kind ctype.Kind
	name string
}{
	{ctype.Struct, "node"},
	{ctype.Struct, "point"},
	{ctype.Typedef, "node_t"},
	{ctype.Typedef, "bytes16"},
	{ctype.Enum, "color"},
	{ctype.Enum, "sign"},
	{ctype.Typedef, "int"},
	{ctype.Typedef, "char"},
	{ctype.Typedef, "unsigned long"},
	{ctype.Typedef, "double"},
	{ctype.Struct, "opaque"},
}

// describeTypes writes types out in full, two levels deep.
func describeTypes(t *testing.T, s debuginfo.Scope) string {
	t.Helper()
	var b strings.Builder
	for _, n := range typeNames {
		ty, err := s.Type(n.kind, n.name)
		if err != nil {
			t.Error(err)
			continue
		}
		fmt.Fprintf(&b, "%s: ", n.name)
		describeType(&b, ty, 3)
		b.WriteByte('\n')
	}
	return b.String()
}

func describeType(b *strings.Builder, t *ctype.Type, depth int) {
	if t == nil || depth == 0 {
		b.WriteString("_")
		return
	}
	fmt.Fprintf(b, "%d %q %d", t.Kind, t.Name, t.Size)
	if t.Elem != nil {
		fmt.Fprintf(b, "[%d](", t.Count)
		describeType(b, t.Elem, depth)
		b.WriteString(")")
	}
	for _, f := range t.Fields() {
		fmt.Fprintf(b, "\n  %s @%d:%d ", f.Name, f.BitOffset, f.BitSize)
		describeType(b, f.Type, depth-1)
	}
	for _, e := range t.Enumerators() {
		fmt.Fprintf(b, " %s=%d", e.Name, e.Value)
	}
}

// ptypeLine is a member of GDB's `ptype/o`: offset or offset:bit, and size.
var ptypeLine = regexp.MustCompile(`^/\* +(\d+)(?:: *(\d+))? +\| +(\d+) \*/ +(.*);$`)

// TestLayoutAgreesWithGDB compares member offsets and sizes with `ptype/o`.
func TestLayoutAgreesWithGDB(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			prog := build(t, v, "prog.c", "other.c")
			m := open(t, prog)
			f, err := m.FuncEntry("main")
			if err != nil {
				t.Fatal(err)
			}
			s, err := m.ScopeAt(f[0].Addr)
			if err != nil {
				t.Fatal(err)
			}
			enums := []string{"RED", "GREEN", "BLUE", "MINUS", "ZERO", "PLUS"}
			cmds := []string{"ptype/o struct node", "print sizeof(struct node)", "echo @\\n", "ptype/o struct opaque", "print sizeof(struct opaque)", "echo @\\n"}
			for _, e := range enums {
				cmds = append(cmds, "output (long)"+e, "echo \\n")
			}
			out := strings.Split(gdb(t, prog, cmds...), "@\n")
			for i, name := range []string{"node", "opaque"} {
				ty, err := s.Type(ctype.Struct, name)
				if err != nil {
					t.Fatal(err)
				}
				compareLayout(t, ty, out[i])
			}
			values := strings.Fields(out[2])
			for i, e := range enums {
				if _, val, ok := s.Enumerator(e); !ok || values[i] != fmt.Sprint(val) {
					t.Errorf("%s is %d (%v), GDB says %s", e, val, ok, values[i])
				}
			}
		})
	}
}

var sizeLine = regexp.MustCompile(`^\$\d+ = (\d+)$`)

func compareLayout(t *testing.T, ty *ctype.Type, out string) {
	t.Helper()
	flat := map[string][2]int64{} // name -> bit offset, bit or byte size
	flatten(ty, 0, flat)
	n := 0
	for _, l := range strings.Split(out, "\n") {
		m := ptypeLine.FindStringSubmatch(l)
		if m == nil {
			if s := sizeLine.FindStringSubmatch(l); s != nil && s[1] != strconv.FormatInt(ty.Size, 10) {
				t.Errorf("%s: size %d, GDB has %s", ty.Name, ty.Size, l)
			}
			continue
		}
		name := memberName(m[4])
		if name == "" {
			continue
		}
		off, _ := strconv.ParseInt(m[1], 10, 64)
		bit, _ := strconv.ParseInt("0"+m[2], 10, 64)
		got, ok := flat[name]
		if !ok || got[0] != off*8+bit {
			t.Errorf("%s.%s: at bit %d (%v), GDB has %s", ty.Name, name, got[0], ok, l)
		}
		if i := strings.LastIndex(m[4], " : "); i > 0 {
			if w := m[4][i+3:]; w != strconv.FormatInt(got[1], 10) {
				t.Errorf("%s.%s: %d bits wide, GDB has %s", ty.Name, name, got[1], l)
			}
		}
		n++
	}
	if n == 0 {
		t.Errorf("nothing compared for %s: %s", ty.Name, out)
	}
}

func memberName(decl string) string {
	if i := strings.Index(decl, "(*"); i >= 0 {
		return strings.TrimRight(strings.SplitN(decl[i+2:], ")", 2)[0], ")")
	}
	if i := strings.LastIndex(decl, " : "); i > 0 {
		decl = decl[:i]
	}
	if i := strings.IndexByte(decl, '['); i > 0 {
		decl = decl[:i]
	}
	i := strings.LastIndexAny(decl, " *}")
	return decl[i+1:]
}

func flatten(t *ctype.Type, base int64, out map[string][2]int64) {
	for _, f := range t.Fields() {
		if f.Name != "" {
			out[f.Name] = [2]int64{base + f.BitOffset, f.BitSize}
		}
		if s := f.Type.Strip(); s.Kind == ctype.Struct || s.Kind == ctype.Union {
			flatten(s, base+f.BitOffset, out)
		}
	}
}
