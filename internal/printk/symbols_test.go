package printk

import (
	"bufio"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// symbols is /proc/kallsyms: the kernel's functions by address.
type symbols struct {
	list       []symbolLine
	start, end uint64 // of the kernel's text
}

type symbolLine struct {
	addr         uint64
	name, module string
}

func readSymbols(t *testing.T) *symbols {
	t.Helper()
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Skipf("needs /proc/kallsyms: %v", err)
	}
	defer f.Close()
	s := &symbols{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		w := strings.Fields(sc.Text())
		if len(w) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(w[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		l := symbolLine{addr: addr, name: w[2]}
		if len(w) > 3 {
			l.module = strings.Trim(w[3], "[]")
		}
		switch l.name {
		case "_stext":
			s.start = addr
		case "_etext":
			s.end = addr
		}
		s.list = append(s.list, l)
	}
	if len(s.list) == 0 || s.list[len(s.list)/2].addr == 0 {
		t.Skip("needs root, to see the kernel's addresses")
	}
	slices.SortStableFunc(s.list, func(a, b symbolLine) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	})
	return s
}

func (s *symbols) find(addr uint64) (Symbol, bool) {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].addr > addr }) - 1
	// The list also has what lies elsewhere: each processor's data, at small addresses.
	if i < 0 || s.list[i].module == "" && (addr < s.start || addr >= s.end) {
		return Symbol{}, false
	}
	end := s.end
	if i+1 < len(s.list) {
		end = s.list[i+1].addr
	}
	// Of several names of one address the kernel takes the first.
	for i > 0 && s.list[i-1].addr == s.list[i].addr {
		i--
	}
	l := s.list[i]
	return Symbol{Name: l.name, Offset: addr - l.addr, Size: end - l.addr, Module: l.module}, true
}

// kernelTypes is the kernel's BTF, as far as print formats need it.
type kernelTypes struct {
	spec        *btf.Spec
	enumerators map[string]int64
	made        map[string]*ctype.Type
}

func readTypes(t *testing.T) *kernelTypes {
	t.Helper()
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Skipf("needs a kernel with BTF: %v", err)
	}
	k := &kernelTypes{spec: spec, enumerators: map[string]int64{}, made: map[string]*ctype.Type{}}
	for typ, err := range spec.All() {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := typ.(*btf.Enum); ok {
			for _, v := range e.Values {
				k.enumerators[v.Name] = int64(v.Value)
			}
		}
	}
	return k
}

func (k *kernelTypes) find(name string) *ctype.Type {
	if t, ok := k.made[name]; ok {
		return t
	}
	var found btf.Type
	tag, bare, ok := strings.Cut(name, " ")
	if !ok {
		bare = name
	}
	all, err := k.spec.AnyTypesByName(bare)
	if err == nil {
		for _, typ := range all {
			switch typ.(type) {
			case *btf.Struct:
				ok = tag == "struct"
			case *btf.Union:
				ok = tag == "union"
			case *btf.Enum:
				ok = tag == "enum"
			case *btf.Typedef:
				ok = tag == bare
			default:
				ok = false
			}
			if ok {
				found = typ
			}
		}
	}
	t := k.make(found, 6)
	k.made[name] = t
	return t
}

func (k *kernelTypes) make(t btf.Type, depth int) *ctype.Type {
	if t == nil || depth == 0 {
		return nil
	}
	switch t := t.(type) {
	case *btf.Int:
		return intType(int64(t.Size), t.Encoding == btf.Signed)
	case *btf.Enum:
		return intType(int64(t.Size), t.Signed)
	case *btf.Typedef:
		return k.make(t.Type, depth)
	case *btf.Const:
		return k.make(t.Type, depth)
	case *btf.Volatile:
		return k.make(t.Type, depth)
	case *btf.Struct:
		return k.compound(ctype.Struct, t.Name, t.Size, t.Members, depth)
	case *btf.Union:
		return k.compound(ctype.Union, t.Name, t.Size, t.Members, depth)
	}
	return nil
}

func (k *kernelTypes) compound(kind ctype.Kind, name string, size uint32, members []btf.Member, depth int) *ctype.Type {
	out := &ctype.Type{Kind: kind, Name: name, Size: int64(size)}
	out.Lazy(func(out *ctype.Type) {
		var fields []ctype.Field
		for _, m := range members {
			if t := k.make(m.Type, depth-1); t != nil {
				fields = append(fields, ctype.Field{Name: m.Name, Type: t, BitOffset: int64(m.Offset), BitSize: int64(m.BitfieldSize)})
			}
		}
		out.SetFields(fields)
	})
	return out
}
