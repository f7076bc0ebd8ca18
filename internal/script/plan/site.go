package plan

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// atSite divides the statements of a probe at a place between the site and jalon.
type atSite struct {
	*candidates
	// conds hold where the walk is, left ever since a return; "": not known.
	conds, left []string
	list        []Update
	done        map[script.Node]bool
	byJalon     bool     // jalon has statements to execute
	always      bool     // one of them at each hit
	when        []string // where the others are
	kept        map[string]kept
	locals      []map[string]bool // by number: the maps and keys that it depends on
	pred        map[string]bool   // maps that the condition of the hit reads
	direct      bool              // maps are read where the value is used: in the condition of the hit
}

// kept is a value that was kept.
type kept struct {
	local, depth int
	of           string // the map, if it was read from one
}

// reached is the C of what holds where the walk is; "": always. known is false if it is not known.
func (a *atSite) reached() (c string, known bool) {
	all := make([]string, 0, len(a.conds)+len(a.left))
	for _, list := range [][]string{a.left, a.conds} {
		for _, c := range list {
			if c == "" {
				return "", false
			}
			all = append(all, c)
		}
	}
	c = strings.Join(all, " && ")
	return c, len(c) <= maxText
}

// under walks a part of the probe that is executed if c holds.
func (w *planner) under(c string, f func()) {
	if w.at == nil {
		f()
		return
	}
	a := w.at
	a.conds = append(a.conds, c)
	f()
	a.conds = a.conds[:len(a.conds)-1]
	for text, k := range a.kept {
		if k.depth > len(a.conds) {
			delete(a.kept, text)
		}
	}
}

// returns notes that a probe ends where the walk is.
func (a *atSite) returns() {
	if c, known := a.reached(); !known || c == "" {
		a.left = append(a.left, "")
	} else {
		a.left = append(a.left, "!("+c+")")
	}
}

// effects notes that jalon executes something where the walk is.
func (w *planner) effects() {
	if w.at == nil {
		return
	}
	c, known := w.at.reached()
	w.at.byJalon = true
	if w.at.always = w.at.always || !known || c == ""; !w.at.always {
		w.at.when = append(w.at.when, c)
	}
}

// noEffect are functions, beside those that sites compute, of which only the value counts.
var noEffect = map[string]bool{
	"str": true, "buf": true, "ksym": true, "usym": true, "strlen": true, "strcap": true, "strncmp": true, "strstr": true, "strcontains": true,
	"nsecs": true, "comm": true, "func": true, "probe": true, "elapsed": true, "sizeof": true, "offsetof": true, "bswap": true, "strerror": true,
}

// executes notes if jalon has to evaluate an expression for more than its value.
func (w *planner) executes(x script.Expr) {
	if w.at == nil || x == nil {
		return
	}
	found := false
	script.Walk(x, func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Call:
			name := wordOf(n)
			found = found || name == "" || !noEffect[name] && wordsAtSite[name] == nil && items[name] == nil
		case *script.Step:
			_, variable := n.X.(*script.Var)
			found = found || !variable
		case *script.Assign:
			_, variable := n.Target.(*script.Var)
			found = found || !variable
		}
		return !found
	})
	if found {
		w.effects()
	}
}

// divided ends the plan of a site: what it does there, and whether it leaves a record.
func (w *planner) divided() {
	a, s := w.at, w.s
	if a == nil {
		return
	}
	s.Updates, s.Done = a.list, a.done
	if a.byJalon && a.whole { // what is left are locals
		w.dropProbe()
		return
	}
	s.NoRecord = !a.byJalon && len(a.done) > 0
	size := 0
	for _, c := range a.when {
		size += len(c) + len("() || ")
	}
	if !a.byJalon || a.always || size > maxText {
		return
	}
	at := textOf(s.Probe.Body)
	s.Updates = append(s.Updates, Update{Do: Leave, From: at, If: w.tree("!(("+strings.Join(a.when, ") || (")+"))", at)})
}

// dropProbe puts all maps of the probe into jalon.
func (w *planner) dropProbe() {
	if w.s.Probe.Pred != nil {
		w.drop(w.s.Probe.Pred)
	}
	w.drop(w.s.Probe.Body)
}

// drop puts the maps of a part of a probe into jalon.
func (w *planner) drop(n script.Node) {
	if w.at == nil {
		return
	}
	script.Walk(n, func(n script.Node) bool {
		if m, ok := n.(*script.Map); ok {
			w.at.candidates.drop(m.Name)
		}
		return true
	})
}

// candidate reports whether x is a map that may be at the sites, or an element of one.
func (w *planner) candidate(x script.Node) bool {
	switch x := x.(type) {
	case *script.Map:
		return w.at != nil && w.at.maps[x.Name] != nil
	case *script.Element:
		return w.candidate(x.Map)
	}
	return false
}

// touches reports whether a part of a probe has maps that may be at the sites.
func (w *planner) touches(n script.Node) bool {
	found := false
	script.Walk(n, func(n script.Node) bool {
		found = found || w.candidate(n)
		return !found
	})
	return found
}

// atSite makes a statement, or the value of a block that is one, that changes a map an update of the site. It reports whether it has.
func (w *planner) atSite(s script.Node) bool {
	if w.at == nil {
		return false
	}
	up, target := w.change(s)
	if target == nil || !w.candidate(target) {
		return false
	}
	if len(w.parts.stepsIn(s)) > 0 { // jalon would not execute them
		w.drop(target)
		return false
	}
	cond, known := w.at.reached()
	if up == nil || !known || len(cond) > maxText {
		w.drop(target)
		return false
	}
	up.From, up.After = textOf(s), len(w.s.Collect)
	if cond != "" {
		up.If = w.tree(cond, up.From)
	}
	if up.Do == Set || up.Do == Add && up.Map.Fn == "" {
		own := strings.Contains(up.Map.Parts, string(PartThread))
		if !own && (w.at.pred[up.Map.Name] || dependencies(w.translator, cond, "")[up.Map.Name] || dependencies(w.translator, up.c, "")[up.Map.Name]) {
			w.drop(target)
			return false
		}
	}
	up.Map.used = true
	up.Map.Adds = up.Map.Adds || up.Do == Add
	if up.Map.At == nil && up.Do != Delete {
		up.Map.At = s
	}
	for text, k := range w.at.kept {
		if k.of == up.Map.Name {
			delete(w.at.kept, text)
		}
	}
	w.at.list = append(w.at.list, *up)
	w.at.done[s] = true
	return true
}

func textOf(n script.Node) lang.Text {
	return lang.Text{Source: n.File().Name, Whole: n.File().Text, Span: n.Span()}
}

// change is the update that a statement is, and the map or element that it changes; nil if it changes none. The update is nil if
// the site cannot do it.
func (w *planner) change(s script.Node) (*Update, script.Expr) {
	switch s := s.(type) {
	case *script.Assign:
		if _, ok := s.Target.(*script.Var); ok {
			return nil, nil
		}
		return w.assigned(s), s.Target
	case *script.Discard:
		return w.changeBy(s.X)
	case *script.ExprStmt:
		return w.changeBy(s.X)
	case script.Expr:
		return w.changeBy(s)
	}
	return nil, nil
}

func (w *planner) changeBy(x script.Expr) (*Update, script.Expr) {
	switch x := x.(type) {
	case *script.Step:
		if _, ok := x.X.(*script.Var); ok {
			return nil, nil
		}
		up := w.element(x.X, Add)
		if up == nil || up.Map.Value.Kind != types.Int || up.Map.Value.Size != 8 {
			return nil, x.X
		}
		up.Value = w.tree(map[string]string{"++": "1L", "--": "(-1L)"}[x.Op], textOf(x))
		return up, x.X
	case *script.Call:
		if row := words.Find(x.Name); row == nil || row.Name != "delete" || len(x.Args) == 0 {
			return nil, nil
		}
		if m, ok := x.Args[0].(*script.Map); ok && len(x.Args) > 1 {
			return w.elementOf(m, x.Args[1], Delete), m
		}
		return w.element(x.Args[0], Delete), x.Args[0]
	}
	return nil, nil
}

// element is an update of an element of a map of numbers.
func (w *planner) element(x script.Expr, do Do) *Update {
	switch x := x.(type) {
	case *script.Map:
		return w.elementOf(x, nil, do)
	case *script.Element:
		return w.elementOf(x.Map, x.Key, do)
	}
	return nil
}

func (w *planner) elementOf(m *script.Map, key script.Expr, do Do) *Update {
	k := atThisSite(w.translator, m.Name)
	if k == nil {
		return nil
	}
	k.deleted = k.deleted || do == Delete
	return w.updateOf(k, m, key, do)
}

func (w *planner) updateOf(k *SiteMap, at, key script.Expr, do Do) *Update {
	parts, ok := w.key(k, key)
	if !ok {
		return nil
	}
	up := &Update{Do: do, Map: k}
	for _, c := range parts {
		up.Key = append(up.Key, w.tree(c, textOf(at)))
	}
	return up
}

// assigned is @m[key] = x, @m[key] += x, or @m[key] = f(x, ...).
func (w *planner) assigned(s *script.Assign) *Update {
	if call, ok := s.Value.(*script.Call); ok && words.FindMapFunc(call.Name) != nil {
		return w.aggregated(s, call)
	}
	up := w.element(s.Target, Set)
	if up == nil {
		return nil
	}
	c := w.converted(s.Value, up.Map.Value)
	switch {
	case c == "":
		return nil
	case s.Op == "":
	case s.Op == "+" || s.Op == "-":
		if up.Map.Value.Kind != types.Int || up.Map.Value.Size != 8 {
			return nil
		}
		up.Do = Add
		if s.Op == "-" {
			c = "(0UL - (unsigned long)(" + c + "))"
		}
	default:
		return nil
	}
	up.Value, up.c = w.tree(c, textOf(s)), c
	return up
}

// aggregated is @m[key] = f(x, ...).
func (w *planner) aggregated(s *script.Assign, call *script.Call) *Update {
	if s.Op != "" || call.Name == "tseries" {
		return nil
	}
	var m *script.Map
	var key script.Expr
	switch t := s.Target.(type) {
	case *script.Map:
		m = t
	case *script.Element:
		m, key = t.Map, t.Key
	}
	k := w.at.maps[m.Name]
	if k == nil || !k.Value.Aggregated() || !w.at.literal(k, call) {
		return nil
	}
	up := w.updateOf(k, m, key, Add)
	if up == nil || len(call.Args) == 0 {
		return up
	}
	c := w.converted(call.Args[0], types.IntOf(8, w.typeOf(call.Args[0]).Signed))
	if c == "" {
		return nil
	}
	up.Value = w.tree(c, textOf(s))
	return up
}

// literal reports whether all updates of a map have the literals of this one.
func (c *candidates) literal(k *SiteMap, call *script.Call) bool {
	lit := func(i int, other int64) int64 {
		if i < len(call.Args) && c.p.Consts[call.Args[i]] != nil {
			return int64(c.p.Consts[call.Args[i]].Int)
		}
		return other
	}
	now := SiteMap{Fn: call.Name, Step: 1}
	switch call.Name {
	case "hist":
		now.K = uint(lit(1, 0))
	case "lhist":
		now.Low, now.High, now.Step = lit(1, 0), lit(2, 0), lit(3, 0)
	}
	if !k.literals {
		k.literals, k.Fn, k.K, k.Low, k.High, k.Step = true, now.Fn, now.K, now.Low, now.High, now.Step
	}
	return k.Fn == now.Fn && k.K == now.K && k.Low == now.Low && k.High == now.High && k.Step == now.Step
}

// atThisSite is a map of numbers that this site can have. The sites of such a map are all in the process, or all in the kernel: each engine has
// its own memory.
func atThisSite(w *translator, name string) *SiteMap {
	k := w.at.number(name)
	if k == nil || w.inKernel() && k.cleared {
		return nil
	}
	if !k.placed {
		k.placed, k.kernel = true, w.inKernel()
	}
	if k.kernel != w.inKernel() {
		return nil
	}
	return k
}

func (w *translator) tree(c string, from lang.Text) lang.Expr {
	x, err := lang.Translated(c, from)
	if err != nil {
		panic(fmt.Sprintf("BUG: the C of an update of a map: %s: %v", c, err))
	}
	return x
}

// mapRead is the value that a map has for a key.
func (w *translator) mapRead(x script.Expr, m *script.Map, key script.Expr) (string, bool) {
	if w.at == nil {
		return "", false
	}
	k := atThisSite(w, m.Name)
	if k == nil {
		return "", false
	}
	parts, ok := w.key(k, key)
	if !ok {
		return "", false
	}
	return wide(w.looked("@map", x, m, parts), k.Value), true
}

// keep keeps a value at the site and returns what it is from then on. of is the map from which it is read, if it is.
func (w *translator) keep(c, of string, at script.Node) string {
	a := w.at
	k, has := a.kept[c]
	if !has {
		k = kept{local: len(a.locals), depth: len(a.conds), of: of}
		a.kept[c] = k
		up := Update{Do: Keep, Local: k.local, From: textOf(at)}
		up.Value = w.tree(c, up.From)
		if cond, known := a.reached(); known && cond != "" {
			up.If = w.tree(cond, up.From)
		}
		up.After = len(w.s.Collect)
		a.locals, a.list = append(a.locals, dependencies(w, c, of)), append(a.list, up)
	}
	return localName(k.local)
}

// dependencies are the maps on which a value depends, beside of.
func dependencies(w *translator, c, of string) map[string]bool {
	from := map[string]bool{}
	var within []string
	if w.parts != nil {
		within = w.parts.within
	}
	for _, c := range append([]string{c}, within...) {
		for n, l := range w.at.locals {
			if len(l) == 0 || !strings.Contains(c, localName(n)) {
				continue
			}
			for m := range l {
				from[m] = true
			}
		}
	}
	if of != "" {
		from[of] = true
	}
	return from
}

func localName(n int) string { return fmt.Sprintf("@local(%d)", n) }
