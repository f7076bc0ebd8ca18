package interp

import (
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// providers are the kinds of probes that run in jalon itself.
var providers = map[string]bool{"begin": true, "end": true, "interval": true, "self": true, "test": true, "bench": true}

// Refuse reports what of a script cannot be executed by a Machine: probes elsewhere, and words that have a meaning
// only there.
func Refuse(p *check.Program) error {
	var bad lang.Diagnostics
	add := func(n script.Node, msg, hint string) { bad = bad.Add(n.File().At(n.Span(), msg, hint)) }
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if !providers[pl.Provider.Name] {
				add(pl.Point, "scripts cannot be attached to a "+pl.Provider.Name+" yet", "begin, end, interval, self, test and bench can be run; --dry-run checks all")
			}
		}
		visit := func(n script.Node) bool { return refused(p, n, add) }
		if pr.Pred != nil {
			script.Walk(pr.Pred, visit)
		}
		script.Walk(pr.Body, visit)
	}
	for _, f := range p.Functions {
		script.Walk(f.Body, func(n script.Node) bool { return refused(p, n, add) })
	}
	return bad.Err()
}

// refused reports a node that cannot be executed, and whether its parts are to be visited. Parts without a type are
// never reached.
func refused(p *check.Program, n script.Node, add func(script.Node, string, string)) bool {
	x, ok := n.(script.Expr)
	if !ok {
		return true
	}
	t := p.Types[x]
	if t == nil || p.Consts[x] != nil {
		return false
	}
	what := ""
	switch x := x.(type) {
	case *script.Ident:
		if w := words.Find(x.Name); w == nil || here[w.Name] == nil {
			what = x.Name
		}
	case *script.Call:
		if w := words.Find(x.Name); w != nil && here[w.Name] == nil && words.FindMapFunc(x.Name) == nil {
			what = x.Name + "()"
		}
	case *script.Addr:
		what = "an address"
	case *script.Unary:
		if x.Op == "*" {
			what = "memory"
		}
	case *script.Field:
		if k := p.Types[x.X]; k != nil && !k.Is(types.Record) {
			what = "memory"
		}
	case *script.Sizeof, *script.Offsetof, *script.Typeinfo, *script.TypeOf:
		return false
	}
	if what != "" {
		add(x, what+" cannot be used in a probe that runs in jalon itself", "")
		return false
	}
	return true
}
