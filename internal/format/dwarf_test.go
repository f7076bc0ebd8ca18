package format

import (
	"debug/dwarf"
	"debug/elf"
	"sort"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// program is a compiled test program: its global variables with types and bytes.
type program struct {
	f       *elf.File
	vars    []variable
	symbols []elf.Symbol
	types   map[dwarf.Type]*ctype.Type
}

type variable struct {
	name string
	typ  *ctype.Type
	addr uint64
}

func loadProgram(t testing.TB, path string) *program {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{f: f, types: map[dwarf.Type]*ctype.Type{}}
	if p.symbols, err = f.Symbols(); err != nil {
		t.Fatal(err)
	}
	sort.SliceStable(p.symbols, func(i, j int) bool { return p.symbols[i].Value < p.symbols[j].Value })
	r := d.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return p
		}
		if e.Tag == dwarf.TagSubprogram {
			r.SkipChildren()
		}
		if e.Tag != dwarf.TagVariable {
			continue
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		typ, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		addr := p.symbol(name)
		if name == "" || !ok || addr == 0 {
			continue
		}
		at := d.Reader()
		at.Seek(typ)
		if e, err := at.Next(); err == nil && e.Tag == dwarf.TagAtomicType { // the standard library lacks it
			typ, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
		}
		dt, err := d.Type(typ)
		if err != nil {
			t.Fatal(err)
		}
		p.vars = append(p.vars, variable{name, p.convert(dt), addr})
	}
}

func (p *program) symbol(name string) uint64 {
	for i := range p.symbols {
		if p.symbols[i].Name == name && elf.ST_TYPE(p.symbols[i].Info) == elf.STT_OBJECT {
			return p.symbols[i].Value
		}
	}
	return 0
}

// convert makes a ctype of std's types.
func (p *program) convert(dt dwarf.Type) *ctype.Type {
	if t, ok := p.types[dt]; ok {
		return t
	}
	t := &ctype.Type{Name: dt.Common().Name, Size: max(dt.Size(), 0)}
	p.types[dt] = t
	switch dt := dt.(type) {
	case *dwarf.CharType:
		t.Kind, t.Signed = ctype.Char, true
	case *dwarf.UcharType:
		t.Kind = ctype.Char
	case *dwarf.IntType:
		t.Kind, t.Signed = ctype.Int, true
	case *dwarf.UintType:
		t.Kind = ctype.Int
	case *dwarf.BoolType:
		t.Kind = ctype.Bool
	case *dwarf.FloatType:
		t.Kind = ctype.Float
	case *dwarf.ComplexType:
		t.Kind = ctype.Complex
	case *dwarf.VoidType:
		t.Kind = ctype.Void
	case *dwarf.UnspecifiedType:
		t.Kind, t.Size = ctype.Void, 0
	case *dwarf.EnumType:
		t.Kind, t.Name = ctype.Enum, dt.EnumName
		var list []ctype.Enumerator
		for _, v := range dt.Val {
			list = append(list, ctype.Enumerator{Name: v.Name, Value: v.Val})
			t.Signed = t.Signed || v.Val < 0
		}
		t.SetEnumerators(list)
	case *dwarf.PtrType:
		t.Kind, t.Elem, t.Size = ctype.Pointer, p.convert(dt.Type), 8
	case *dwarf.ArrayType:
		t.Kind, t.Elem, t.Count = ctype.Array, p.convert(dt.Type), dt.Count
	case *dwarf.TypedefType:
		t.Kind, t.Elem = ctype.Typedef, p.convert(dt.Type)
		if a := t.Strip(); a.Kind == ctype.Array && len(t.Name) > 3 && t.Name[0] == 'v' && t.Name[1] >= '0' && t.Name[1] <= '9' {
			a.Vector = true // std does not read DW_AT_GNU_vector
		}
	case *dwarf.QualType:
		t.Kind, t.Elem = map[string]ctype.Kind{"const": ctype.Const, "volatile": ctype.Volatile, "restrict": ctype.Restrict}[dt.Qual], p.convert(dt.Type)
		t.Name = ""
	case *dwarf.UnsupportedType:
		t.Kind = ctype.Invalid
	case *dwarf.FuncType:
		t.Kind = ctype.Func
		if dt.ReturnType == nil {
			t.Elem = ctype.VoidT
		} else {
			t.Elem = p.convert(dt.ReturnType)
		}
		for _, param := range dt.ParamType {
			if _, ok := param.(*dwarf.DotDotDotType); ok {
				t.Variadic = true
				continue
			}
			t.Params = append(t.Params, p.convert(param))
		}
	case *dwarf.StructType:
		t.Kind, t.Name, t.Incomplete = ctype.Struct, dt.StructName, dt.Incomplete
		if dt.Kind == "union" {
			t.Kind = ctype.Union
		}
		var list []ctype.Field
		for _, m := range dt.Field {
			off := m.ByteOffset * 8
			switch {
			case m.BitSize > 0 && m.ByteSize > 0: // DWARF 4: counted from the unit's other end
				off += m.ByteSize*8 - m.BitOffset - m.BitSize
			case m.BitSize > 0:
				off += m.DataBitOffset
			}
			list = append(list, ctype.Field{Name: m.Name, Type: p.convert(m.Type), BitOffset: off, BitSize: m.BitSize})
		}
		t.SetFields(list)
	}
	return t
}

// memory reads the program's memory as the file has it.
func (p *program) memory(addr uint64, n int) []byte {
	for _, s := range p.f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_TLS != 0 || addr < s.Addr || addr >= s.Addr+s.Size {
			continue
		}
		n = int(min(uint64(n), s.Addr+s.Size-addr))
		data := make([]byte, n)
		if s.Type == elf.SHT_NOBITS {
			return data
		}
		if _, err := s.ReadAt(data, int64(addr-s.Addr)); err != nil {
			return nil
		}
		return data
	}
	return nil
}

// name finds the symbol around an address as GDB does.
func (p *program) name(addr uint64) string {
	for i := sort.Search(len(p.symbols), func(i int) bool { return p.symbols[i].Value > addr }) - 1; i >= 0; i-- {
		s := &p.symbols[i]
		kind := elf.ST_TYPE(s.Info)
		if kind != elf.STT_OBJECT && kind != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
			continue
		}
		if addr >= s.Value+s.Size {
			if s.Size != 0 {
				return ""
			}
			if addr != s.Value || kind != elf.STT_FUNC {
				continue
			}
		}
		if addr == s.Value {
			return s.Name
		}
		return s.Name + "+" + strings.TrimSpace(string(appendDecimal(nil, []byte{byte(addr - s.Value), byte((addr - s.Value) >> 8)}, false)))
	}
	return ""
}
