package plan

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// maxString bounds what str() and buf() collect, as sema does.
const maxString = 32 << 10

// text is str(p[, n]) or buf(p[, n]) of an address.
func (w *planner) text(x *script.Call, name string) {
	t, arg := w.typeOf(x), x.Args[0]
	if len(x.Args) > 1 {
		w.expr(x.Args[1])
	}
	if p, ok := w.dynamic(arg); ok { // the record has the array itself
		w.read(x, p, t)
		return
	}
	c, ok := w.value(arg)
	if !ok {
		w.unknowable(arg)
		return
	}
	if name == "str" {
		w.read(x, fmt.Sprintf("str((char *)(%s), %d)", c, min(w.characterLimit(x, t), longestName(w, arg))), t)
		return
	}
	size := fmt.Sprint(min(t.Size, maxString))
	if len(x.Args) > 1 && w.p.Consts[x.Args[1]] == nil {
		if n, ok := w.value(x.Args[1]); ok {
			size = fmt.Sprintf("((unsigned long)(%s) < %s ? (unsigned long)(%s) : %s)", n, size, n, size)
		}
	}
	w.read(x, fmt.Sprintf("*(unsigned char *)(%s)@%s", c, size), t)
}

// longestName is how long the text can be that x points to. The kernel's struct qstr names an entry of a directory: up to NAME_MAX bytes.
// A record that has room for no more can have the names of many entries.
func longestName(w *planner, x script.Expr) int64 {
	const nameMax = 255
	f, ok := x.(*script.Field)
	if !ok || f.Name != "name" || w.s.Point.Provider.User {
		return maxString
	}
	t := w.typeOf(f.X)
	if t.Kind == types.Pointer {
		t = t.Pointee()
	}
	if t.Kind == types.Struct && t.C != nil && t.C.Strip().Name == "qstr" {
		return nameMax
	}
	return maxString
}

// characterLimit is how many characters str() reads. A length that is given counts the NUL, as in bpftrace.
func (w *translator) characterLimit(x *script.Call, t *types.Type) int64 {
	limit := t.Size
	if len(x.Args) > 1 {
		if k := w.p.Consts[x.Args[1]]; k != nil && k.Int <= uint64(limit) {
			limit = int64(k.Int) - 1
		}
	}
	return max(0, min(limit, maxString))
}

// dynamic is args.x if it is a dynamic array of a tracepoint's record.
func (w *translator) dynamic(x script.Expr) (string, bool) {
	f, ok := x.(*script.Field)
	if !ok || !w.isArgs(f.X) || w.s.Point.Provider.Name != "tracepoint" {
		return "", false
	}
	p, ok := w.memberPlace(f)
	if !ok || p.c == nil {
		return "", false
	}
	_, _, ok = ctype.Dynamic(p.c)
	return p.name, ok
}

// call collects what the arguments of a function read.
func (w *planner) call(x *script.Call) {
	row := words.Find(x.Name)
	if row == nil {
		for _, a := range x.Args {
			w.expr(a)
		}
		w.vars.forgetMaps()
		return
	}
	if row.Missing != "" && !AtSite(row.Name) {
		w.fail(x, row.Name+"() is "+row.Missing, "")
		return
	}
	switch row.Name {
	case "sizeof", "offsetof":
		return
	case "signal", "signal_thread":
		sendSignal(w, x, row.Name)
		return
	case "join":
		w.join(x)
		return
	case "print", "clear", "zero", "len", "delete", "has_key", "find":
		if _, element := x.Args[0].(*script.Element); !element || row.Name != "print" {
			if w.candidate(x.Args[0]) {
				w.drop(x.Args[0])
			}
		}
		if row.Name == "clear" || row.Name == "zero" || row.Name == "delete" {
			w.unknown(x.Args[0])
		}
	}
	switch row.Name {
	case "find":
		found(w, x)
		return
	case "container_of":
		w.expr(x.Args[0])
		return
	}
	for _, a := range x.Args {
		if t := w.typeOf(a); t.Kind == types.Pointer && chars[row.Name] {
			w.characters(a)
			continue
		}
		w.expr(a)
	}
}

// chars are functions that read the characters at an address.
var chars = map[string]bool{"strlen": true, "strcap": true, "strstr": true, "strcontains": true, "strncmp": true, "macaddr": true}

// characters collects the string at an address, as the value of the address.
func (w *planner) characters(x script.Expr) {
	c, ok := w.value(x)
	if !ok {
		w.unknowable(x)
		return
	}
	size := w.p.Config.Int("max_strlen")
	w.read(x, fmt.Sprintf("str((char *)(%s), %d)", c, min(size, maxString)), types.StringOf(size))
}

// Limits of join(), as bpftrace has them.
const (
	JoinStrings = 16
	JoinLength  = 1024
)

// join collects the strings of an array of pointers. Their fields are in turns of the call.
func (w *planner) join(x *script.Call) {
	c, ok := w.value(x.Args[0])
	if !ok {
		w.unknowable(x.Args[0])
		return
	}
	outer := w.turn
	for i := range JoinStrings {
		w.turn = Turn(outer, i)
		w.read(x.Args[0], fmt.Sprintf("str(*(char **)(%s + %dUL), %d)", c, 8*i, JoinLength-1), types.StringOf(JoinLength))
	}
	w.turn = outer
}
