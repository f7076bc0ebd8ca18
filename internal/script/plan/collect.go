package plan

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// isVariable reports whether a bare word is a variable of the program.
func (w *translator) isVariable(x *script.Ident) bool {
	return words.Find(x.Name) == nil && w.p.Consts[x] == nil && w.typeOf(x).Kind != types.None
}

// reads reports whether an expression itself reads the traced program or kernel; parts of others may do so.
func (w *planner) reads(x script.Expr) bool {
	if w.p.Consts[x] != nil || w.typeOf(x).Kind == types.None {
		return false
	}
	switch x := x.(type) {
	case *script.Map:
		return w.at != nil && w.at.number(x.Name) != nil
	case *script.Element:
		return w.at != nil && w.at.number(x.Map.Name) != nil
	case *script.Ident:
		return w.isVariable(x) || w.readsWord(x.Name) || w.isArgs(x) && w.typeOf(x).Kind == types.Struct
	case *script.Field:
		t := w.typeOf(x.X)
		return w.isArgs(x.X) || t.Kind == types.Pointer || t.Kind == types.Struct && w.reads(x.X)
	case *script.Index:
		t := w.typeOf(x.X)
		return t.Kind == types.Pointer || t.Is(types.Array, types.String) && w.reads(x.X)
	case *script.Unary:
		return x.Op == "*"
	case *script.Cast: // of an object to its own type
		return types.Same(w.typeOf(x), w.typeOf(x.X)) && !scalar(w.typeOf(x)) && w.reads(x.X)
	case *script.Call:
		return w.readsCall(x)
	}
	return false
}

// readsWord reports whether a word is read at the site.
func (w *planner) readsWord(name string) bool {
	row := words.Find(name)
	if row != nil && row.Name == "nsecs" {
		return w.timed()
	}
	return row != nil && !fromHit[row.Name] && (wordsAtSite[row.Name] != nil || items[row.Name] != nil)
}

func (w *planner) readsCall(x *script.Call) bool {
	row := words.Find(x.Name)
	if row == nil {
		return false
	}
	switch row.Name {
	case "str", "buf":
		_, dynamic := w.dynamic(x.Args[0])
		return dynamic || w.typeOf(x.Args[0]).Is(types.Int, types.Pointer)
	case "kptr", "uptr", "container_of": // they compute with what others read
		return false
	case "has_key", "find":
		return w.findsAtSite(x)
	}
	return w.readsWord(x.Name)
}

// collect makes a field of an expression that reads.
func (w *planner) collect(x script.Expr) {
	t := w.typeOf(x)
	if w.isArgs(x) {
		w.allArgs(x, t)
		return
	}
	if w.candidate(x) {
		w.readElement(x, t)
		return
	}
	if name := wordOf(x); name == "has_key" || name == "find" {
		search(w, x.(*script.Call), name)
		return
	}
	if call, ok := x.(*script.Call); ok {
		if row := words.Find(call.Name); row.Name == "str" || row.Name == "buf" {
			w.text(call, row.Name)
			return
		}
	}
	if name := wordOf(x); name != "" && items[name] != nil {
		c, err := items[name](w)
		if err != "" {
			w.fail(x, err, "")
			return
		}
		w.read(x, c, t)
		return
	}
	switch {
	case scalar(t):
		if c, ok := w.value(x); ok {
			w.read(x, c, types.IntOf(8, t.Signed))
			if w.parts != nil && w.parts.taken[c] == "" && !isLocal(c) && len(c) <= maxText {
				w.parts.take(c, types.IntOf(8, t.Signed), x)
			}
			return
		}
	case t.Kind == types.Float:
		p, ok := w.placeOf(x)
		if wordOf(x) == "retval" {
			p, ok = place{name: "$retval"}, true
		}
		if ok && p.name != "" {
			c := p.name
			if w.p.Mixed[x] {
				c = "(double)(" + c + ")"
			}
			w.read(x, c, t)
			return
		} else if ok {
			w.read(x, fmt.Sprintf("*(%s *)(%s)", map[int64]string{4: "float", 8: "double"}[t.Size], p.addr), t)
			return
		}
	case t.Is(types.String, types.Array, types.Struct, types.Buffer):
		if p, ok := w.placeOf(x); ok {
			if c, ok := p.bytes(t.Size); ok {
				w.read(x, c, t)
				return
			}
		}
	}
	if i, ok := x.(*script.Index); ok && w.typeOf(i.X).Is(types.Array, types.String) { // all elements, for an index that jalon computes
		w.expr(i.X)
		w.expr(i.I)
		return
	}
	w.unknowable(x)
}

// readElement collects what a map has for a key, at the site.
func (w *planner) readElement(x script.Expr, t *types.Type) {
	if c, ok := w.value(x); ok {
		w.read(x, c, types.IntOf(8, t.Signed))
		return
	}
	w.drop(x)
	if e, ok := x.(*script.Element); ok {
		w.expr(e.Key)
	}
}

// allArgs collects the struct of the arguments. Its members are in turns of the word.
func (w *planner) allArgs(x script.Expr, t *types.Type) {
	outer := w.turn
	defer func() { w.turn = outer }()
	for i, f := range t.C.Fields() {
		ft := types.FromC(f.Type)
		p, ok := w.memberPlace(&script.Field{X: x, Name: f.Name})
		if !ok {
			w.unknowable(x)
			return
		}
		w.turn = Turn(outer, i)
		switch c, ok := p.load(ft); {
		case scalar(ft) && ok:
			w.read(x, c, types.IntOf(8, ft.Signed))
		case ft.Is(types.Float, types.String, types.Array, types.Struct) && p.name != "" && ft.Size > 0:
			w.read(x, p.name, ft)
		case ft.Kind != types.None && ft.Size > 0:
			w.unknowable(x)
			return
		}
	}
}

// wordOf is the name of the row of a word or function.
func wordOf(x script.Expr) string {
	name := ""
	switch x := x.(type) {
	case *script.Ident:
		name = x.Name
	case *script.Call:
		name = x.Name
	}
	if row := words.Find(name); row != nil {
		return row.Name
	}
	return ""
}

// unknowable reports why an expression cannot be read at the site.
func (w *planner) unknowable(x script.Expr) {
	why, hint := "this cannot be read at a "+w.s.Point.Provider.Name, ""
	script.Walk(x, func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Map:
			why = "the address comes from the map " + n.Name + ", which the site cannot read"
			hint = "read what the address points to where it is put into the map, and put that into the map"
			if w.opt.followed != nil {
				w.opt.followed[n.Name] = true
			}
			if at := w.opt.undecided[n.Name]; at != nil {
				hint = "sites cannot decide " + at.File().Text[at.Span().Lo:at.Span().Hi] + ", on which a change of the map depends: put it where the map is read, or put what the address points to into the map"
			}
		case *script.Var:
			if k := w.vars.get(n.Name); k.c == "" && k.at == (place{}) {
				why = "the value of " + n.Name + " is not known at the site: it comes from a map or changes in a loop"
			}
		case script.Expr:
			if name := wordOf(n); name != "" && hint == "" && !w.inKernel() && (wordsAtSite[name] != nil || items[name] != nil) {
				if _, ok := w.value(n); !ok && wordsAtSite[name] != nil {
					why = name + " cannot be read by code in a process"
				}
			}
		}
		return true
	})
	if w.why != "" {
		why, hint, w.why = w.why, "", ""
	}
	if _, ok := w.dynamic(x); ok && hint == "" {
		why, hint = "this is an array of the record whose length changes", "str("+x.File().Text[x.Span().Lo:x.Span().Hi]+") is the text in it"
	}
	w.fail(x, why, hint)
}

// items are words that are items of a collect list of their own. They return what is wrong with them here, or C.
var items map[string]func(w *planner) (c, err string)

func init() {
	items = map[string]func(w *planner) (c, err string){
		"kstack": func(w *planner) (string, string) {
			if w.s.Point.Provider.User {
				return "", "there is no stack of the kernel at a place in a program"
			}
			return "$bt", ""
		},
		"username":    inKernelOnly("(unsigned long)$uid", "the user is not known to code in a process"),
		"pcomm":       inKernelOnly("$task->real_parent->group_leader->comm", "the parent is not known to code in a process"),
		"leader_comm": inKernelOnly("$task->group_leader->comm", "the first thread is not known to code in a process"),
		"ustack":      userStack,
		"dw_ustack":   userStack,
	}
}

func inKernelOnly(c, why string) func(*planner) (string, string) {
	return func(w *planner) (string, string) {
		if !w.inKernel() {
			return "", why
		}
		return c, ""
	}
}

func userStack(w *planner) (string, string) {
	if w.s.Point.Provider.User {
		return "$bt", ""
	}
	return "$ubt", ""
}
