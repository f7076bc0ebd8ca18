package format

import (
	"github.com/jalon-trace/jalon/internal/callargs"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// Records of the events of system calls. The kernel prints the words of their arguments in hexadecimal; here they are
// shown as strace shows them.

// isCallString reports that a field is shown as part of the record of a system call.
func isCallString(f *event.Field) bool { return f.Group == event.CallStrings }

// callString returns the field of the string at an argument; ok: there is one.
func callString(ev *event.Event, arg string) (v event.Value, ok bool) {
	for i := range ev.Schema.Fields {
		if f := &ev.Schema.Fields[i]; isCallString(f) && f.Name == arg {
			return ev.Value(i), true
		}
	}
	return v, false
}

// appendCall prints "openat(dfd: AT_FDCWD, filename: "/etc/hosts", flags: O_RDONLY, mode: 0)", or "openat = -2 ENOENT".
func (p *Printer) appendCall(b []byte, ev *event.Event, v *event.Value) []byte {
	t := v.Field.Text
	b = append(b, t.Call...)
	if t.Return {
		b = append(b, " = "...)
		if len(t.Args) == 1 {
			if n, ok := wordAt(v.Data, t.Args[0].Offset); ok {
				return callargs.AppendResult(b, t.Call, int64(n))
			}
		}
		return append(b, "<unavailable>"...)
	}
	b = append(b, '(')
	for i, a := range t.Args {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, a.Name...), ": "...)
		n, ok := wordAt(v.Data, a.Offset)
		if !ok {
			b = append(b, "<unavailable>"...)
			continue
		}
		if s, has := callString(ev, a.Name); has && n != 0 && s.Str != nil {
			if s.Status == event.OK && s.Str.Status == event.OK {
				b = p.str(b, stringChars(s.Field.Type), s.Str.Data, stringEnd(s.Str.Truncated))
				continue
			}
			b = append(appendHex(b, n), " <unreadable>"...)
			continue
		}
		b = callargs.Append(b, t.Call, argOf(v.Field.Type, a, n))
	}
	return append(b, ')')
}

// wordAt reads a word of a record.
func wordAt(data []byte, off int64) (uint64, bool) {
	if off < 0 || off > int64(len(data))-8 {
		return 0, false
	}
	return word(data[off : off+8]), true
}

// argOf describes an argument by the field of the record's type.
func argOf(record *ctype.Type, a event.TextArg, n uint64) callargs.Arg {
	arg := callargs.Arg{Name: a.Name, Word: n}
	if record == nil {
		return arg
	}
	for i := range record.Strip().Fields() {
		if f := &record.Strip().Fields()[i]; f.Name == a.Name && f.Type != nil {
			t := f.Type.Strip()
			arg.Pointer, arg.Signed, arg.Size = t.Kind == ctype.Pointer, t.Signed, t.Size
		}
	}
	return arg
}
