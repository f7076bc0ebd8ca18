package plan

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// atThisSite is a map of numbers that this site can have. With Options.Apart, the sites of such a map are all in the process, or all in the kernel.
func atThisSite(w *translator, name string) *SiteMap {
	k := w.at.number(name)
	if k == nil || w.inKernel() && k.Clears {
		return nil
	}
	if w.inKernel() {
		k.kernel = true
	} else {
		k.process = true
	}
	if k.kernel && k.process && w.opt.Apart {
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
