package btf

import (
	"bufio"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// The oracle is bpftool, which reads BTF with libbpf. JALON_VMLINUX names further
// kernel images (with a .BTF section) or raw BTF files to compare, separated by colons.

func images(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, file := range append(strings.Split(os.Getenv("JALON_VMLINUX"), ":"), raw.File) {
		if file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := elf.NewFile(bytes.NewReader(b)); err == nil {
			if b, err = f.Section(".BTF").Data(); err != nil {
				t.Fatal(err)
			}
		}
		out[file] = b
	}
	return out
}

// dumped is a type as bpftool writes it.
type dumped struct {
	kind, name string
	attr       map[string]string
	members    []dumpedMember
	defined    int // FWD: how many definitions there are
}

type dumpedMember struct {
	name string
	attr map[string]string
}

func bpftool(t *testing.T, b []byte) map[raw.ID]*dumped {
	t.Helper()
	tool, err := exec.LookPath("bpftool")
	if err != nil {
		if _, e := os.Stat("/usr/sbin/bpftool"); e != nil {
			t.Skipf("the oracle is not installed: %v", err)
		}
		tool = "/usr/sbin/bpftool"
	}
	file := filepath.Join(t.TempDir(), "btf")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(tool, "btf", "dump", "file", file, "format", "raw").Output()
	if err != nil {
		t.Fatal(err)
	}
	head := regexp.MustCompile(`^\[(\d+)\] (\w+) '([^']*)'(.*)`)
	item := regexp.MustCompile(`^\t(?:'([^']*)' )?(.*)`)
	attr := regexp.MustCompile(`(\w+)=(-?\w+)`)
	attrs := func(s string) map[string]string {
		m := map[string]string{}
		for _, a := range attr.FindAllStringSubmatch(s, -1) {
			m[a[1]] = a[2]
		}
		return m
	}
	name := func(s string) string { return strings.TrimPrefix(s, "(anon)") }
	out := map[raw.ID]*dumped{}
	var cur *dumped
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		if m := head.FindStringSubmatch(sc.Text()); m != nil {
			cur = &dumped{kind: m[2], name: name(m[3]), attr: attrs(m[4])}
			id, _ := strconv.Atoi(m[1])
			out[raw.ID(id)] = cur
		} else if m := item.FindStringSubmatch(sc.Text()); m != nil && cur != nil {
			cur.members = append(cur.members, dumpedMember{name(m[1]), attrs(m[2])})
		}
	}
	defined := map[string]int{}
	for _, d := range out {
		defined[strings.ToLower(d.kind)+" "+d.name]++
	}
	for _, d := range out {
		d.defined = defined[d.attr["fwd_kind"]+" "+d.name]
	}
	if len(out) == 0 {
		t.Fatalf("nothing understood of what bpftool wrote: %.200s", text)
	}
	return out
}

func num(s string) int64 {
	s = strings.TrimRight(s, "UL")
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v
	}
	v, _ := strconv.ParseUint(s, 10, 64)
	return int64(v)
}

// TestTypesOracle compares every type of the kernel, member by member.
func TestTypesOracle(t *testing.T) {
	for file, b := range images(t) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			k, err := Parse(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			x, err := k.base.open()
			if err != nil {
				t.Fatal(err)
			}
			all := bpftool(t, b)
			count := map[string]int{}
			for id, d := range all {
				if check := oracleChecks[d.kind]; check != nil {
					if why := check(k, all, d, k.typeOf(x.Type(id))); why != "" {
						t.Errorf("[%d] %s %q: %s", id, d.kind, d.name, why)
					}
					count[d.kind]++
				}
			}
			oracleIndex(t, k, all)
			oracleTracepoints(t, k, all)
			t.Logf("compared: %v", count)
		})
	}
}

type oracleCheck func(k *Kernel, all map[raw.ID]*dumped, d *dumped, c *ctype.Type) string

var oracleChecks = map[string]oracleCheck{
	"STRUCT": checkComposite, "UNION": checkComposite,
	"ENUM": checkEnum, "ENUM64": checkEnum,
	"INT": checkInt, "TYPEDEF": checkTypedef, "ARRAY": checkArray, "FUNC_PROTO": checkProto, "PTR": checkPointer,
	"FWD": checkForward,
}

var kinds = map[string]ctype.Kind{
	"STRUCT": ctype.Struct, "UNION": ctype.Union, "ENUM": ctype.Enum, "ENUM64": ctype.Enum, "PTR": ctype.Pointer,
	"ARRAY": ctype.Array, "FUNC_PROTO": ctype.Func, "TYPEDEF": ctype.Typedef, "CONST": ctype.Const,
	"VOLATILE": ctype.Volatile, "RESTRICT": ctype.Restrict, "FLOAT": ctype.Float,
}

// refers returns why c is not the type with that id, "" if it is.
func refers(all map[raw.ID]*dumped, id string, c *ctype.Type) string {
	d := all[raw.ID(num(id))]
	for d != nil && d.kind == "TYPE_TAG" {
		id, d = d.attr["type_id"], all[raw.ID(num(d.attr["type_id"]))]
	}
	switch {
	case num(id) == 0:
		if c.Kind != ctype.Void {
			return "not void"
		}
	case d.kind == "INT":
		return checkInt(nil, all, d, c)
	case d.kind == "FWD":
		return checkForward(nil, all, d, c)
	case kinds[d.kind] != c.Kind || d.name != c.Name:
		return "not " + d.kind + " " + d.name + " but " + c.Name
	}
	return ""
}

func checkComposite(_ *Kernel, all map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	if c.Kind != kinds[d.kind] || c.Name != d.name || c.Size != num(d.attr["size"]) || len(c.Fields()) != len(d.members) {
		return "the type itself differs"
	}
	for i, f := range c.Fields() {
		m := d.members[i]
		if f.Name != m.name || f.BitOffset != num(m.attr["bits_offset"]) || f.BitSize != num(m.attr["bitfield_size"]) {
			return "member " + m.name + " differs"
		}
		if why := refers(all, m.attr["type_id"], f.Type); why != "" {
			return "member " + m.name + ": " + why
		}
	}
	return ""
}

func checkEnum(_ *Kernel, _ map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	if len(d.members) == 0 {
		return "" // a declaration
	}
	if c.Kind != ctype.Enum || c.Name != d.name || c.Size != num(d.attr["size"]) ||
		c.Signed != (d.attr["encoding"] == "SIGNED") || len(c.Enumerators()) != len(d.members) {
		return "the type itself differs"
	}
	for i, e := range c.Enumerators() {
		if m := d.members[i]; e.Name != m.name || e.Value != num(m.attr["val"]) {
			return "constant " + m.name + " differs"
		}
	}
	return ""
}

func checkInt(_ *Kernel, _ map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	kind := ctype.Int
	switch {
	case d.attr["encoding"] == "BOOL":
		kind = ctype.Bool
	case d.name == "char" || d.name == "signed char" || d.name == "unsigned char":
		kind = ctype.Char
	}
	if c.Kind != kind || c.Name != d.name || c.Size != num(d.attr["size"]) || c.Signed != (d.attr["encoding"] == "SIGNED") {
		return "not integer " + d.name
	}
	return ""
}

func checkTypedef(_ *Kernel, all map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	if c.Kind != ctype.Typedef || c.Name != d.name || c.Size != c.Elem.Size {
		return "the type itself differs"
	}
	return refers(all, d.attr["type_id"], c.Elem)
}

func checkPointer(_ *Kernel, all map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	if c.Kind != ctype.Pointer || c.Size != 8 {
		return "no pointer"
	}
	return refers(all, d.attr["type_id"], c.Elem)
}

func checkArray(_ *Kernel, all map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	n := num(d.attr["nr_elems"])
	if c.Kind != ctype.Array || n > 0 && (c.Count != n || c.Size != n*c.Elem.Size) || n == 0 && (c.Count != -1 || c.Size != 0) {
		return "the array differs"
	}
	return refers(all, d.attr["type_id"], c.Elem)
}

func checkProto(_ *Kernel, all map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	m := d.members
	variadic := len(m) > 0 && m[len(m)-1].name == "" && m[len(m)-1].attr["type_id"] == "0"
	if variadic {
		m = m[:len(m)-1]
	}
	if c.Kind != ctype.Func || c.Variadic != variadic || len(c.Params) != len(m) {
		return "the parameters differ"
	}
	for i, p := range c.Params {
		if why := refers(all, m[i].attr["type_id"], p); why != "" {
			return why
		}
	}
	return refers(all, d.attr["ret_type_id"], c.Elem)
}

// checkForward: a declaration becomes the definition, if there is one of that name.
func checkForward(_ *Kernel, _ map[raw.ID]*dumped, d *dumped, c *ctype.Type) string {
	kind := map[string]string{"struct": "STRUCT", "union": "UNION"}[d.attr["fwd_kind"]]
	if c.Kind != kinds[kind] || c.Name != d.name || d.defined == 0 && !c.Incomplete || d.defined == 1 && c.Incomplete {
		return "the declaration differs"
	}
	return ""
}

// oracleIndex compares the names that are found by passes over all types.
func oracleIndex(t *testing.T, k *Kernel, all map[raw.ID]*dumped) {
	x, err := k.base.open()
	if err != nil {
		t.Fatal(err)
	}
	if x.Len() != len(all) {
		t.Errorf("%d types, bpftool has %d", x.Len(), len(all))
	}
	want := map[raw.Kind][]string{}
	indexed := map[string]raw.Kind{"STRUCT": raw.Struct, "UNION": raw.Union, "TYPEDEF": raw.Typedef, "FUNC": raw.Func}
	percpu := x.PerCPUs()
	enums := map[string]map[int64]bool{}
	for id, d := range all {
		if n, ok := indexed[d.kind]; ok && d.name != "" {
			want[n] = append(want[n], d.name)
		}
		if strings.HasPrefix(d.kind, "ENUM") {
			for _, m := range d.members {
				if enums[m.name] == nil {
					enums[m.name] = map[int64]bool{}
				}
				enums[m.name][num(m.attr["val"])] = true
			}
		}
		if d.kind == "DATASEC" && d.name == ".data..percpu" {
			for _, m := range d.members {
				v := all[raw.ID(num(m.attr["type_id"]))]
				if got, off, ok := x.PerCPU(v.name); !ok || int64(off) != num(m.attr["offset"]) || int64(got.ID) != num(m.attr["type_id"]) || percpu[v.name] != off {
					t.Errorf("per-CPU variable %s (type %d): %d at %#x", v.name, id, got.ID, off)
				}
			}
			if len(percpu) != len(d.members) {
				t.Errorf("%d per-CPU variables, bpftool has %d", len(percpu), len(d.members))
			}
		}
	}
	for n, names := range want {
		slices.Sort(names)
		if got := x.List(func(string) bool { return true }, n); !slices.Equal(got, slices.Compact(names)) {
			t.Errorf("names of kind %d differ", n)
		}
	}
	for name, values := range enums {
		if _, v, ok := k.Enumerator(name); !ok || !values[v] {
			t.Errorf("enumerator %s: %d %v, bpftool has %v", name, v, ok, values)
		}
	}
}

// oracleTracepoints compares names and types of raw arguments.
func oracleTracepoints(t *testing.T, k *Kernel, all map[raw.ID]*dumped) {
	iter := map[string][]dumpedMember{}
	var names []string
	for _, d := range all {
		if d.kind == "FUNC" && strings.HasPrefix(d.name, "__traceiter_") {
			iter[strings.TrimPrefix(d.name, "__traceiter_")] = all[raw.ID(num(d.attr["type_id"]))].members
		}
		if d.kind == "TYPEDEF" && strings.HasPrefix(d.name, rawPrefix) {
			names = append(names, strings.TrimPrefix(d.name, rawPrefix))
		}
	}
	slices.Sort(names)
	if got, err := k.Tracepoints("*"); err != nil || !slices.Equal(got, names) {
		t.Errorf("%d tracepoints, %v; bpftool has %d", len(got), err, len(names))
	}
	args := 0
	for _, name := range names {
		tp, err := k.Tracepoint(name)
		if err != nil {
			t.Error(err)
			continue
		}
		want := iter[name]
		if len(want) != len(tp.Params)+1 {
			t.Errorf("%s: %d arguments, __traceiter_ has %d", name, len(tp.Params), len(want)-1)
			continue
		}
		for i, p := range tp.Params {
			if m := want[i+1]; p.Name != m.name || refers(all, m.attr["type_id"], p.Type) != "" || strings.HasPrefix(p.Name, "arg0") {
				t.Errorf("%s: argument %d is %s %q, bpftool has %q", name, i, p.Type.Name, p.Name, m.name)
			}
			if s := p.Type.Size; s != 1 && s != 2 && s != 4 && s != 8 {
				t.Errorf("%s: argument %s has %d bytes, which is not one word", name, p.Name, s)
			}
			args++
		}
	}
	t.Logf("%d tracepoints with %d arguments, %d functions", len(names), args, len(iter))
}
