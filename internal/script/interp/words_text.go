package interp

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/syscalls"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// chars is a string, or an array of characters.
func (m *library) chars(x script.Expr) string {
	v, t := m.expr(x), m.typeOf(x)
	if m.hit != nil { // the string at a pointer
		if s, st, ok := m.recorded(x, m.turn); ok && st.Kind == types.String {
			return s.s
		}
	}
	switch t.Kind {
	case types.String, types.Buffer:
		return v.s
	case types.Array:
		b := make([]byte, 0, len(v.list))
		for _, e := range v.list {
			var raw [8]byte
			binary.LittleEndian.PutUint64(raw[:], e.n)
			b = append(b, raw[:t.Elem.Size]...)
		}
		return string(b)
	case types.Pointer, types.Int:
		return m.textAt(x, v.n, m.p.Config.Int("max_strlen"))
	}
	abandon(unavailable(x, "memory"))
	return ""
}

// str is str() or buf() of a string, an array or an address.
func (m *library) str(at script.Expr, args []script.Expr) val {
	if m.hit == nil && m.typeOf(args[0]).Is(types.Int, types.Pointer) && m.p.Consts[args[0]] == nil {
		return copied(m, at.(*script.Call), m.expr(args[0]).n)
	}
	s := m.chars(args[0])
	if strings.HasPrefix(at.(*script.Call).Name, "str") {
		s = cstr(s)
	}
	size := uint64(m.typeOf(at).Size)
	if len(args) > 1 {
		size = min(size, m.expr(args[1]).n)
	}
	if uint64(len(s)) < size && strings.HasPrefix(at.(*script.Call).Name, "buf") {
		s += strings.Repeat("\x00", int(min(size, uint64(m.typeOf(args[0]).Size)))-len(s))
	}
	return val{s: s[:min(uint64(len(s)), size)]}
}

// copied is str() or buf() of an address.
func copied(m *library, at *script.Call, addr uint64) val {
	t := m.typeOf(at)
	size := t.Size
	if len(at.Args) > 1 {
		size = int64(min(uint64(size), m.expr(at.Args[1]).n))
	}
	if t.Kind == types.Buffer {
		return val{s: string(m.bytesAt(at.Args[0], addr, size))}
	}
	if len(at.Args) > 1 { // a length that is given counts the NUL
		size--
	}
	v := val{s: m.textAt(at.Args[0], addr, size+1)}
	if int64(len(v.s)) > size {
		v.s = v.s[:max(size, 0)]
		if len(at.Args) == 1 {
			v.tail = m.p.Config.Word("str_trunc_trailer")
		}
	}
	return v
}

func (m *library) strlen(_ script.Expr, args []script.Expr) val {
	return num(uint64(len(cstr(m.chars(args[0])))))
}

func (m *library) strcap(_ script.Expr, args []script.Expr) val {
	return num(uint64(m.typeOf(args[0]).Size))
}

func (m *library) strncmp(_ script.Expr, args []script.Expr) val {
	a, b, n := cstr(m.chars(args[0])), cstr(m.chars(args[1])), m.expr(args[2]).n
	a, b = a[:min(uint64(len(a)), n)], b[:min(uint64(len(b)), n)]
	return truth(a != b)
}

func (m *library) strstr(_ script.Expr, args []script.Expr) val {
	return num(uint64(strings.Index(cstr(m.chars(args[0])), cstr(m.chars(args[1])))))
}

func (m *library) strcontains(_ script.Expr, args []script.Expr) val {
	return truth(strings.Contains(cstr(m.chars(args[0])), cstr(m.chars(args[1]))))
}

func (m *library) strConcat(at script.Expr, args []script.Expr) val {
	s := cstr(m.chars(args[0])) + cstr(m.chars(args[1]))
	return val{s: s[:min(int64(len(s)), m.typeOf(at).Size-1)]}
}

func (m *library) strerror(_ script.Expr, args []script.Expr) val {
	n := int32(m.expr(args[0]).n)
	if n == 0 {
		return val{s: "Success"}
	}
	text := syscall.Errno(n).Error()
	return val{s: strings.ToUpper(text[:1]) + text[1:]}
}

func (m *library) signalName(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	switch {
	case n < uint64(len(signalTexts)) && signalTexts[n] != "":
		return val{s: signalTexts[n]}
	case n >= 32 && n <= 64:
		return val{s: "Unknown signal " + strconv.FormatUint(n, 10)}
	case n == 0:
		return val{s: "Unknown signal 0"}
	}
	return val{s: "N/A"}
}

func (m *library) syscallName(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	if name := syscalls.Name(n); name != "" {
		return val{s: name}
	}
	return val{s: "unknown"}
}

func (m *library) bswap(at script.Expr, args []script.Expr) val {
	t := m.typeOf(at)
	return num(bits.ReverseBytes64(m.expr(args[0]).n) >> (64 - 8*uint(t.Size)))
}

func (m *library) ntop(_ script.Expr, args []script.Expr) val {
	x := args[len(args)-1]
	var raw []byte
	if t := m.typeOf(x); t.Kind == types.Int {
		raw = binary.LittleEndian.AppendUint32(nil, uint32(m.expr(x).n))
	} else {
		raw = []byte(m.chars(x))
		raw = append(raw, make([]byte, max(int(t.Size)-len(raw), 0))...)
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return val{s: ""}
	}
	return val{s: a.String()}
}

func (m *library) pton(at script.Expr, args []script.Expr) val {
	a, err := netip.ParseAddr(m.expr(args[0]).s)
	if err != nil {
		panic("BUG: an address that the checker did not refuse: " + err.Error())
	}
	v := val{}
	for _, b := range a.AsSlice() {
		v.list = append(v.list, num(uint64(b)))
	}
	return v
}

func (m *library) isErr(_ script.Expr, args []script.Expr) val {
	n := int64(m.expr(args[0]).n)
	return truth(n < 0 && n >= -4095)
}

func (m *library) memcmp(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[2]).n
	a, b := bytesOf(m.expr(args[0]), m.typeOf(args[0])), bytesOf(m.expr(args[1]), m.typeOf(args[1]))
	a, b = a[:min(uint64(len(a)), n)], b[:min(uint64(len(b)), n)]
	return num(uint64(strings.Compare(string(a), string(b))))
}

// bytesOf is a value as it lies in memory.
func bytesOf(v val, t *types.Type) []byte {
	out := make([]byte, t.Size)
	switch t.Kind {
	case types.Float:
		if t.Size == 4 {
			binary.LittleEndian.PutUint32(out, math.Float32bits(float32(v.f)))
			break
		}
		binary.LittleEndian.PutUint64(out, math.Float64bits(v.f))
	case types.String, types.Buffer, types.Struct:
		copy(out, v.s)
	case types.Array:
		for i, e := range v.list {
			copy(out[int64(i)*t.Elem.Size:], bytesOf(e, t.Elem))
		}
	case types.Tuple, types.Record:
		for i, f := range t.Fields {
			copy(out[f.Offset:], bytesOf(v.list[i], f.Type))
		}
	default:
		var raw [8]byte
		binary.LittleEndian.PutUint64(raw[:], v.n)
		copy(out, raw[:])
	}
	return out
}

func userName(uid uint64) string {
	u, err := user.LookupId(strconv.FormatUint(uid, 10))
	if err != nil {
		return strconv.FormatUint(uid, 10)
	}
	return u.Username
}
