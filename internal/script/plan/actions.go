package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// A map can be updated at the sites, without a record for each hit, if
//
//  1. all its updates are by functions such as count() and hist(), so that their order does not matter,
//  2. the probes that update it do nothing else,
//  3. keys are numbers and short texts, and values numbers, that the sites can compute, and
//  4. the other probes, which run in jalon itself, only read it.
//
// Other maps are in jalon.

// SiteMap is a map that sites update.
type SiteMap struct {
	*check.Map
	Fn              string // count, sum, ...
	K               uint   // of hist
	Low, High, Step int64  // of lhist
}

// Update is an update of a SiteMap at a hit.
type Update struct {
	Map   *SiteMap
	Key   []lang.Expr
	Value lang.Expr // nil for count()
	If    lang.Expr // nil: always
	From  lang.Text
}

// siteMaps gives sites their updates and returns the maps that they update.
func siteMaps(p *check.Program, opt Options, sites []*Site) []*SiteMap {
	found := map[string]*SiteMap{}
	bad := map[string]bool{}
	made := map[*Site]bool{}
	for _, s := range sites { // a probe with a label may be disabled while the script runs
		if made[s] = s.Point.Label == "" && updates(p, opt, s, found, bad); !made[s] {
			mapsIn(s.Probe, bad)
		}
	}
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if RunsInJalon(p, pr, pl) {
				changed(p, pr.Body, bad)
			}
		}
	}
	for _, f := range p.Functions {
		changed(p, f.Body, bad)
	}
	for again := true; again; { // a probe with a map that is in jalon is executed there, and all its maps are
		again = false
		for _, s := range sites {
			if made[s] && touches(s, bad) {
				made[s], again = false, true
				mapsIn(s.Probe, bad)
			}
		}
	}
	var out []*SiteMap
	for _, s := range sites {
		if !made[s] {
			s.Updates = nil
		}
	}
	for _, m := range p.Maps {
		if k := found[m.Name]; k != nil && !bad[m.Name] {
			out = append(out, k)
		}
	}
	return out
}

func touches(s *Site, bad map[string]bool) bool {
	for _, u := range s.Updates {
		if bad[u.Map.Name] {
			return true
		}
	}
	return false
}

// mapsIn adds all maps of a probe.
func mapsIn(pr *check.Probe, to map[string]bool) {
	visit := func(n script.Node) bool {
		if m, ok := n.(*script.Map); ok {
			to[m.Name] = true
		}
		return true
	}
	if pr.Pred != nil {
		script.Walk(pr.Pred, visit)
	}
	script.Walk(pr.Body, visit)
}

// changed adds the maps that a part of the script changes in jalon.
func changed(p *check.Program, n script.Node, to map[string]bool) {
	name := func(x script.Node) string {
		switch x := x.(type) {
		case *script.Map:
			return x.Name
		case *script.Element:
			return x.Map.Name
		}
		return ""
	}
	script.Walk(n, func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Assign:
			to[name(n.Target)] = true
		case *script.Step:
			to[name(n.X)] = true
		case *script.Addr:
			to[name(n.X)] = true
		case *script.Call:
			row := words.Find(n.Name)
			if row != nil && len(n.Args) > 0 && (row.Name == "zero" || row.Name == "delete" || row.Name == "clear" && extreme(p, name(n.Args[0]))) {
				to[name(n.Args[0])] = true
			}
		}
		return true
	})
}

// extreme reports maps from which nothing can be taken back: the smallest or largest value of what was before.
func extreme(p *check.Program, name string) bool {
	for _, m := range p.Maps {
		if m.Name == name {
			return m.Value.Is(types.Min, types.Max)
		}
	}
	return false
}

// updater makes the updates of a site.
type updater struct {
	*translator
	found map[string]*SiteMap
	conds []string // of the ifs around
}

// updates makes the updates of a site if its probe does nothing else.
func updates(p *check.Program, opt Options, s *Site, found map[string]*SiteMap, bad map[string]bool) bool {
	u := &updater{translator: &translator{p: p, opt: opt, s: s}, found: found}
	if s.Point.Provider.Name == "usdt" || s.Probe.Pred != nil && !s.Decided {
		return false
	}
	u.vars.push()
	if !u.block(s.Probe.Body) || len(s.Updates) == 0 {
		s.Updates = nil
		return false
	}
	return true
}

func (u *updater) block(b *script.Block) bool {
	u.vars.push()
	defer u.vars.pop()
	for _, s := range b.Stmts {
		if !u.stmt(s) {
			return false
		}
	}
	return b.Value == nil
}

func (u *updater) stmt(s script.Stmt) bool {
	switch s := s.(type) {
	case *script.ExprStmt:
		if b, ok := s.X.(*script.Block); ok {
			return u.block(b)
		}
		x, ok := s.X.(*script.If)
		return ok && u.branches(x)
	case *script.Let:
		return s.Value != nil && u.variable(s.Var, s.Value, true)
	case *script.Assign:
		if v, ok := s.Target.(*script.Var); ok {
			return s.Op == "" && len(u.conds) == 0 && u.variable(v, s.Value, false)
		}
		return s.Op == "" && u.update(s)
	}
	return false
}

func (u *updater) variable(v *script.Var, x script.Expr, declare bool) bool {
	c := u.converted(x, u.typeOf(v))
	if declare {
		u.vars.declare(v.Name, known{c: c})
	} else {
		u.vars.set(v.Name, known{c: c})
	}
	return c != ""
}

func (u *updater) branches(x *script.If) bool {
	c, ok := u.truth(x.Cond)
	if !ok || u.p.Consts[x.Cond] != nil {
		return false
	}
	u.conds = append(u.conds, c)
	ok = u.block(x.Then)
	u.conds[len(u.conds)-1] = "!" + c
	switch other := x.Else.(type) {
	case nil:
	case *script.Block:
		ok = ok && u.block(other)
	case *script.If:
		ok = ok && u.branches(other)
	}
	u.conds = u.conds[:len(u.conds)-1]
	return ok
}

// update is @m[key] = f(value, ...).
func (u *updater) update(s *script.Assign) bool {
	call, ok := s.Value.(*script.Call)
	if !ok || words.FindMapFunc(call.Name) == nil || call.Name == "tseries" {
		return false
	}
	up := Update{From: lang.Text{Source: s.File().Name, Whole: s.File().Text, Span: s.Span()}}
	var name string
	var key []string
	switch t := s.Target.(type) {
	case *script.Map:
		name, ok = t.Name, true
	case *script.Element:
		name = t.Map.Name
		key, ok = u.key(t.Key, u.mapOf(name).Key)
	}
	m := u.mapOf(name)
	if !ok || m == nil || m.Decl != nil {
		return false
	}
	for _, c := range key {
		up.Key = append(up.Key, u.tree(c, up.From))
	}
	if len(call.Args) > 0 {
		t := u.typeOf(call.Args[0])
		c := u.converted(call.Args[0], types.IntOf(8, t.Signed))
		if c == "" {
			return false
		}
		up.Value = u.tree(c, up.From)
	}
	if up.Map = u.siteMap(m, call); up.Map == nil {
		return false
	}
	if len(u.conds) > 0 {
		all := u.conds[0]
		for _, c := range u.conds[1:] {
			all += " && " + c
		}
		up.If = u.tree(all, up.From)
	}
	u.s.Updates = append(u.s.Updates, up)
	return true
}

func (u *updater) tree(c string, from lang.Text) lang.Expr {
	x, err := lang.Translated(c, from)
	if err != nil {
		panic(fmt.Sprintf("BUG: the C of an update of a map: %s: %v", c, err))
	}
	return x
}

func (u *updater) mapOf(name string) *check.Map {
	for _, m := range u.p.Maps {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// maxKeyParts bounds the parts of a key.
const maxKeyParts = 4

// key is a key as C.
func (u *updater) key(x script.Expr, t *types.Type) (parts []string, ok bool) {
	elems, of := []script.Expr{x}, []*types.Type{t}
	if tuple, ok := x.(*script.Tuple); ok && t.Kind == types.Tuple {
		elems, of = tuple.Elems, nil
		for _, f := range t.Fields {
			of = append(of, f.Type)
		}
	}
	if len(elems) > maxKeyParts || len(elems) != len(of) {
		return nil, false
	}
	for i, e := range elems {
		c := u.converted(e, of[i])
		switch of[i].Kind {
		case types.String:
			c = u.keyText(e, of[i])
		case types.KStack:
			c = u.keyStack(e)
		}
		if c == "" {
			return nil, false
		}
		parts = append(parts, c)
	}
	return parts, true
}

// MaxKeyText is how many characters a text in a key has at most.
const MaxKeyText = 64

// keyText is a text as C; "" if the site cannot have it as a part of a key.
func (u *updater) keyText(x script.Expr, t *types.Type) string {
	if t.Size > MaxKeyText+1 {
		return ""
	}
	if k := u.p.Consts[x]; k != nil {
		if k.Kind != types.String || !plain(k.Str) || int64(len(k.Str)) >= t.Size {
			return ""
		}
		return strconv.Quote(k.Str)
	}
	if !u.typeOf(x).Is(types.String) {
		return ""
	}
	if wordOf(x) == "comm" && len(arguments(x)) == 0 && u.inKernel() {
		return "$comm"
	}
	if call, ok := x.(*script.Call); ok && wordOf(x) == "str" {
		return u.shortText(call)
	}
	if p, ok := u.placeOf(x); ok && p.bits == 0 && u.typeOf(x).Size <= MaxKeyText {
		if p.name != "" {
			return p.name
		}
		return fmt.Sprintf("str((char *)(%s), %d)", p.addr, u.typeOf(x).Size)
	}
	return ""
}

// keyStack is the stack of the kernel as C.
func (u *updater) keyStack(x script.Expr) string {
	if wordOf(x) != "kstack" || u.s.Point.Provider.User || u.p.Consts[x] != nil {
		return ""
	}
	return "$bt"
}

// shortText is str(p, n) with a constant n: what is longer is cut without a mark.
func (u *updater) shortText(x *script.Call) string {
	if _, dynamic := u.dynamic(x.Args[0]); dynamic || len(x.Args) < 2 || u.p.Consts[x.Args[1]] == nil {
		return ""
	}
	c, ok := u.value(x.Args[0])
	limit := u.characterLimit(x, u.typeOf(x))
	if !ok || limit == 0 || limit > MaxKeyText {
		return ""
	}
	return fmt.Sprintf("str((char *)(%s), %d)", c, limit)
}

func arguments(x script.Expr) []script.Expr {
	if call, ok := x.(*script.Call); ok {
		return call.Args
	}
	return nil
}

// plain reports texts that are written in C as they are.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' || r == '?' })
}

// siteMap is the map of an update, nil if another update has other literals.
func (u *updater) siteMap(m *check.Map, call *script.Call) *SiteMap {
	k := &SiteMap{Map: m, Fn: call.Name, Step: 1}
	lit := func(i int) int64 {
		if i < len(call.Args) && u.p.Consts[call.Args[i]] != nil {
			return int64(u.p.Consts[call.Args[i]].Int)
		}
		return 0
	}
	switch call.Name {
	case "hist":
		k.K = uint(lit(1))
	case "lhist":
		k.Low, k.High, k.Step = lit(1), lit(2), lit(3)
	}
	old := u.found[m.Name]
	if old == nil {
		u.found[m.Name] = k
		return k
	}
	if *old != *k {
		return nil
	}
	return old
}
