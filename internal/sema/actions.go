package sema

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// action is a checked Action.
type action struct {
	*Action
	cond, value expr
	key         []keyExpr
	uses        []int // locals
}

// keyExpr is an operand for a part of a key.
type keyExpr struct {
	KeyPart
	x     expr // a number, or the address of text; nil for a stack
	count expr // of the bytes of text that does not end with a zero
	bytes int64
	lit   *strLit
	user  bool // a stack of a program, at a place of the kernel engine
}

// checkActions checks the actions of a place.
func checkActions(c *checker, list []Action) (out []*action) {
	for i := range list {
		a := &action{Action: &list[i]}
		c.from, c.inCond, c.used = a.From, true, nil
		c.guard(func() {
			whole := a.From.Span
			a.Action = withArgs(c, a.Action)
			if a.Map == nil {
				checkLocal(c, a)
				return
			}
			if a.Map.Infer != nil {
				infer(c, a.Action)
			}
			if why := a.Map.check(); why != "" {
				c.fail(whole, why, "")
			}
			if a.If != nil {
				a.cond = c.truth(c.expr(c.decide(a.If)))
			}
			a.key = mapKey(c, a.Map, a.Key, whole)
			switch needs := a.needsValue(); {
			case needs && a.Value == nil:
				c.fail(whole, fmt.Sprintf("a value for %s is missing", a.Map.Name), "")
			case a.Do > Delete || a.Do != Update && a.Map.Kind != MapNumber:
				c.fail(whole, a.Map.Name+" is made of the values of all hits: none can be set or deleted", "")
			case needs:
				if a.ValueFrom.Whole != "" {
					c.from = a.ValueFrom
				}
				a.value = mapValue(c, a.Map, a.Value)
			}
		})
		a.uses = c.used
		out = append(out, a)
	}
	c.inCond = false
	return out
}

// withArgs expands $args in a key to the function's parameters; at a return, to what they were at the entry.
func withArgs(c *checker, a *Action) *Action {
	isArgs := func(x lang.Expr) bool {
		r, ok := x.(*lang.Reg)
		return ok && r.Name == "args"
	}
	if !slices.ContainsFunc(a.Key, isArgs) {
		return a
	}
	var key []lang.Expr
	for _, x := range a.Key {
		if !isArgs(x) {
			key = append(key, x)
			continue
		}
		args := c.in.Scope.Args()
		if len(args) == 0 {
			c.fail(x.Span(), "there are no arguments here, as far as is known", "")
		}
		for _, v := range args {
			text := v.Name
			if c.in.Exit != nil {
				text = "@entry(" + text + ")"
			}
			part, err := lang.Translated(text, a.From)
			if err != nil {
				c.fail(x.Span(), fmt.Sprintf("the parameter %q cannot be a part of a key", v.Name), "")
			}
			key = append(key, part)
		}
	}
	expanded := *a
	expanded.Key = key
	return &expanded
}

// checkLocal checks an action without a map.
func checkLocal(c *checker, a *action) {
	if a.If != nil {
		a.cond = c.truth(c.expr(c.decide(a.If)))
	}
	switch {
	case a.Do == Leave, a.Do == End, a.Do == Begin && a.If != nil:
		return
	case a.Do == Eval && a.Value != nil:
		if a.value = c.expr(c.decide(a.Value)); isScalar(a.value.Type()) {
			a.value = c.rvalue(a.value)
		}
		return
	case a.Do != Keep && a.Do != Taken || a.Value == nil:
		c.fail(a.From.Span, "an action without a map", "")
	}
	a.value = c.value(c.decide(a.Value))
	if t := a.value.Type(); !isInt(t) && !isPointer(t) {
		c.fail(a.value.Span(), "an integer or pointer can be kept, not "+typeString(t), "")
	}
	if c.locals == nil {
		c.locals = map[int]bool{}
	}
	c.locals[a.Local] = true
}

// localCall is @local(n): what an action before has kept.
func localCall(c *checker, x *lang.Call) expr {
	if len(x.Args) == 1 {
		if n, ok := x.Args[0].(*lang.IntLit); ok && c.locals[int(n.Value)] {
			c.used = append(c.used, int(n.Value))
			return &localExpr{typed{ctype.LongT, x.Span()}, int(n.Value)}
		}
	}
	c.fail(x.Span(), "@local needs the number of what an action before has kept", "")
	return nil
}

// nsecsCall is @nsecs(): the time of the hit.
func nsecsCall(c *checker, x *lang.Call) expr {
	if len(x.Args) > 0 || c.in.Moment == nil || c.in.Moment.Rate <= 0 {
		c.fail(x.Span(), "@nsecs needs the time of the hit, which is not known here", "")
	}
	return &nsecsExpr{typed{ctype.ULongT, x.Span()}}
}

func (a *Action) needsValue() bool { return a.Do != Delete && a.Map.Kind != MapCount }

// infer finds the types of a map's keys and values.
func infer(c *checker, a *Action) {
	in := a.Map.Infer
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.done {
		return
	}
	var key []KeyPart
	var types ActionTypes
	for _, x := range a.Key {
		part, t := inferPart(c, x)
		key, types.Key = append(key, part), append(types.Key, t)
	}
	if a.Value != nil {
		old := c.from
		if a.ValueFrom.Whole != "" {
			c.from = a.ValueFrom
		}
		types.Value = c.value(c.decide(a.Value)).Type()
		c.from = old
		a.Map.Unsigned = !isSigned(types.Value)
	}
	a.Map.Key, in.types, in.done = key, types, true
}

func inferPart(c *checker, x lang.Expr) (KeyPart, *ctype.Type) {
	if r, ok := x.(*lang.Reg); ok && (r.Name == "bt" || r.Name == "ubt") {
		return KeyPart{Kind: KeyStack}, nil
	}
	e := c.expr(c.decide(x))
	if _, ok := e.(*text); ok {
		return KeyPart{Kind: KeyText, Bytes: MaxKeyText}, nil
	}
	t := e.Type()
	switch {
	case c.stringIn(e) != nil:
		return KeyPart{Kind: KeyText, Bytes: MaxKeyText}, nil
	case t.Strip().Kind == ctype.Array && isChar(elemOf(t)):
		n := MaxKeyText
		if size := t.Strip().Size; size > 0 && size < MaxKeyText {
			n = int(roundUp(size, 8))
		}
		return KeyPart{Kind: KeyText, Bytes: n}, nil
	case isPointer(t) && ctype.StringWidth(elemOf(t)) == 1:
		return KeyPart{Kind: KeyText, Bytes: MaxKeyText}, nil
	}
	return KeyPart{}, t
}

// typesOf are the types of the operands of actions.
func typesOf(list []*action) (out []ActionTypes) {
	for _, a := range list {
		var t ActionTypes
		for _, k := range a.key {
			var kt *ctype.Type
			if k.Kind == KeyNumber && k.x != nil {
				kt = k.x.Type()
			}
			t.Key = append(t.Key, kt)
		}
		if a.value != nil {
			t.Value = a.value.Type()
		}
		out = append(out, t)
	}
	return out
}

// mapValue checks a value that is put into a map.
func mapValue(c *checker, m *Map, x lang.Expr) expr {
	e := c.value(c.decide(x))
	if t := e.Type(); !isInt(t) && !isPointer(t) {
		hint := ""
		if isFloat(t) {
			hint = "statements keep fractions: --do '@ = avg(x);', or jalon run"
		}
		c.fail(e.Span(), fmt.Sprintf("%s takes integers and pointers, this is %s", m.Name, typeString(t)), hint)
	}
	return e
}

// mapKey checks the key of an element.
func mapKey(c *checker, m *Map, list []lang.Expr, whole lang.Span) (out []keyExpr) {
	if len(list) != len(m.Key) {
		c.fail(whole, fmt.Sprintf("the key of %s has %d parts, this has %d", m.Name, len(m.Key), len(list)), "")
	}
	for i, x := range list {
		k := keyExpr{KeyPart: m.Key[i]}
		switch k.Kind {
		case KeyNumber:
			k.x = c.value(c.decide(x))
			if t := k.x.Type(); !isInt(t) && !isPointer(t) {
				c.fail(k.x.Span(), fmt.Sprintf("this part of the key of %s is a number, not %s", m.Name, typeString(t)), "")
			}
		case KeyComm:
			if r, ok := x.(*lang.Reg); !ok || r.Name != "comm" {
				c.fail(x.Span(), "this part of the key of "+m.Name+" is the name of the thread: $comm", "")
			}
			if c.in.Kernel != nil {
				keyText(c, m, &k, c.expr(x))
			}
		case KeySite:
		case KeyText:
			keyText(c, m, &k, c.expr(c.decide(x)))
		case KeyStack:
			if r, ok := x.(*lang.Reg); !ok || r.Name != "bt" && r.Name != "ubt" {
				c.fail(x.Span(), "this part of the key of "+m.Name+" is a stack: $bt", "")
			}
			switch k.user = c.in.Kernel != nil && (c.in.Kernel.User || x.(*lang.Reg).Name == "ubt"); {
			case c.in.Kernel == nil && c.in.StackFrames <= 0:
				c.fail(x.Span(), "stacks cannot be keys at this place", "--engine process, without --stack copy")
			case k.user && m.Kind == MapNumber:
				c.fail(x.Span(), "the stack of a program cannot be a key of numbers here: it may have several numbers of its own", "")
			}
		case KeyThread:
			if r, ok := x.(*lang.Reg); !ok || r.Name != "tid" {
				c.fail(x.Span(), "this part of the key of "+m.Name+" is a thread: $tid", "")
			}
		}
		out = append(out, k)
	}
	return out
}

// keyText finds the address of text and how many bytes of it count.
func keyText(c *checker, m *Map, k *keyExpr, e expr) {
	k.bytes = int64(k.Bytes)
	switch x := e.(type) {
	case *text:
		if k.x = x.p; x.limit >= 0 {
			k.bytes = min(k.bytes, x.limit)
		}
		if n := ctype.StringWidth(elemOf(x.p.Type())); n > 1 {
			c.fail(e.Span(), "wide characters cannot be keys", "")
		}
		return
	case *strLit:
		k.lit = x
		return
	}
	if s := c.stringIn(e); s != nil {
		k.x, k.count = s.first, convert(s.count, ctype.ULongT)
		return
	}
	t := e.Type()
	switch {
	case t.Strip().Kind == ctype.Array && isLvalue(e) && isChar(elemOf(t)):
		c.needAddress(e)
		if n := t.Strip().Size; n > 0 {
			k.bytes = min(k.bytes, n)
		}
		k.x = c.rvalue(e)
		return
	case isPointer(t) && ctype.StringWidth(elemOf(t)) == 1:
		k.x = c.rvalue(e)
		return
	}
	c.fail(e.Span(), fmt.Sprintf("this part of the key of %s is text, not %s", m.Name, typeString(t)), "str(p) is the text at a pointer")
}

// readCall is @map("NAME", key...): the number that a map has for a key, 0 if it has none.
func readCall(c *checker, x *lang.Call) expr { return mapCall(c, x, false) }

// hasCall is @has("NAME", key...): 1 if the key is in a map, else 0.
func hasCall(c *checker, x *lang.Call) expr { return mapCall(c, x, true) }

func mapCall(c *checker, x *lang.Call, has bool) expr {
	if len(x.Args) == 0 {
		c.fail(x.Span(), map[bool]string{false: "@map", true: "@has"}[has]+` needs the name of a map, and a key`, `@map("@start", $tid)`)
	}
	name, ok := x.Args[0].(*lang.StringLit)
	if !ok {
		c.fail(x.Args[0].Span(), "the name of a map is a string", "")
	}
	for _, m := range c.in.Maps {
		if m.Name != name.Value {
			continue
		}
		if why := m.check(); why != "" {
			c.fail(x.Span(), why, "")
		}
		if m.Kind != MapNumber {
			c.fail(x.Span(), m.Name+" is made of the values of all hits: it cannot be read at a hit", "")
		}
		t := ctype.LongT
		if m.Unsigned {
			t = ctype.ULongT
		}
		return &mapExpr{typed{t, x.Span()}, m, mapKey(c, m, x.Args[1:], x.Span()), has}
	}
	c.fail(x.Span(), "there is no map "+name.Value, "")
	return nil
}
