package plan

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// Maps are at the sites, in memory that sites and jalon have in common, or in jalon, which changes them when it has read
// the records. A map can be at the sites if
//
//  1. it is updated by functions such as count() and hist(), or its values are integers or pointers,
//  2. all its changes and reads in probes at places can be computed there: keys of numbers, short texts, the thread, its name, the CPU, the place or function, stacks of programs;
//     conditions that are known there, outside of loops of which the passes are not known,
//  3. what a hit does with a value does not depend on that other threads leave it alone meanwhile: = and += of a value that
//     depends on the value before, as in if (@a < $x) { @a = $x; }, only if the thread is a part of the key, and
//  4. probes that run in jalon itself only read it, or clear it; end probes may do anything.
//
// The other statements of a probe are executed by jalon, from a record that has what they read of these maps. A hit for which there
// are no such statements leaves no record. A script that calls exit() in a probe at a place has no such division: hits after
// that one would change maps. There a probe is at the site as a whole or not at all, except for maps from which sites take addresses.
//
// A map of numbers whose sites are in the process and in the kernel is in memory that both have (SiteMap.Both), unless Options.Apart. Programs of the
// kernel then interrupt hits in the process on their thread, so more is asked of it: see common. A map of numbers in the kernel is cleared only by end probes.

// SiteMap is a map that sites change.
type SiteMap struct {
	*check.Map
	Fn              string      // count, sum, ...; "" for a map of numbers
	K               uint        // of hist
	Low, High, Step int64       // of lhist
	Parts           string      // of keys, a letter each: PartNumber, ...
	Adds            bool        // it has ++, --, += or -=
	Sets            bool        // a site sets or deletes elements
	At              script.Node // a statement that adds elements
	Both            bool        // a map of numbers that sites in the process and in the kernel use
	Deletes         bool        // a site deletes elements
	InKernel        bool        // sites of a map of numbers are in the kernel
	Clears          bool        // a probe in jalon clears it
	// Sums: stacks are in the keys of a map of numbers. Several numbers of stacks may be one key, so what sites add is added up, as for sum().
	Sums            bool
	onlyAdds        bool // probes at places do nothing with it but ++, --, += and -=
	keyed           bool // Parts is known
	process, kernel bool // sites of a map of numbers are in the process, in the kernel
	depends         bool // a change in the process depends on the value before
	written         bool // sites in the kernel change it
	used            bool // a site changes it
	literals        bool // those of Fn are known
}

// Do is what an Update does.
type Do uint8

// The updates.
const (
	Add    Do = iota // or what Fn does
	Set              // @m[key] = Value
	Delete           // @m[key]
	Keep             // Value, as @local(Local)
	Leave            // the hit, without a record
	Begin            // a part of the probe, which is executed if If holds
	End              // of the part
	Taken            // the value of item After-1, as @local(Local)
)

// Update is what a hit does at the site.
type Update struct {
	Do    Do
	Map   *SiteMap // nil: only Add, Set and Delete have one
	Local int
	After int // items of the collect list before it, in a probe that is planned in parts
	Key   []lang.Expr
	Value lang.Expr // nil for count(), Delete and Leave
	If    lang.Expr // nil: always
	From  lang.Text
	c     string // Value
}

// candidates are the maps that may be at the sites.
type candidates struct {
	p     *check.Program
	maps  map[string]*SiteMap
	bad   map[string]bool // maps that were found to be in jalon
	whole bool            // probes are at the site as a whole or not at all
	keeps bool            // Options.Keeps
}

// newCandidates are all maps but bad ones.
func newCandidates(p *check.Program, opt Options, bad map[string]bool) *candidates {
	c := &candidates{p: p, maps: map[string]*SiteMap{}, bad: bad, whole: exits(p), keeps: opt.Keeps}
	for _, m := range p.Maps {
		if k := (&SiteMap{Map: m, Step: 1}); !opt.InJalon && !bad[m.Name] && (m.Decl == nil || opt.declared) && (m.Value.Aggregated() && !m.Value.Float || scalar(m.Value) && (!c.whole || opt.addresses[m.Name])) {
			c.maps[m.Name] = k
		}
	}
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if pl.Provider.Name != "end" && RunsInJalon(p, pr, pl) {
				c.inJalon(pr.Body)
			}
		}
	}
	for _, f := range p.Functions {
		c.inJalon(f.Body)
		script.Walk(f.Body, func(n script.Node) bool {
			if m, ok := n.(*script.Map); ok && c.number(m.Name) != nil {
				c.drop(m.Name)
			}
			return true
		})
	}
	for name := range bad {
		delete(c.maps, name)
	}
	c.crowded()
	c.added()
	return c
}

// added finds the maps to which probes at places only add.
func (c *candidates) added() {
	uses, adds := map[string]int{}, map[string]int{}
	note := func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Map:
			uses[n.Name]++
		case *script.ExprStmt:
			if s, ok := n.X.(*script.Step); ok {
				adds[changedMap(s.X)]++
			}
		case *script.Assign:
			if n.Op == "+" || n.Op == "-" {
				adds[changedMap(n.Target)]++
			}
		}
		return true
	}
	for _, pr := range c.p.Probes {
		if !slices.ContainsFunc(pr.Places, func(pl *script.Place) bool { return !RunsInJalon(c.p, pr, pl) }) {
			continue
		}
		if pr.Pred != nil {
			script.Walk(pr.Pred, note)
		}
		script.Walk(pr.Body, note)
	}
	for name, k := range c.maps {
		k.onlyAdds = uses[name] == adds[name]
	}
}

// changedMap is the map of an element, or a map; "" if x is neither.
func changedMap(x script.Node) string {
	switch x := x.(type) {
	case *script.Map:
		return x.Name
	case *script.Element:
		return x.Map.Name
	}
	return ""
}

// MaxMaps is how many maps a site can have. A test compares it with ir.MaxMaps.
const MaxMaps = 16

// crowded puts maps into jalon where a probe at a place has more than a site can have: the last ones of the probe.
func (c *candidates) crowded() {
	for _, pr := range c.p.Probes {
		found := map[string]bool{}
		note := func(n script.Node) bool {
			m, ok := n.(*script.Map)
			switch {
			case !ok || c.maps[m.Name] == nil || found[m.Name]:
			case len(found) == MaxMaps:
				c.drop(m.Name)
				delete(c.maps, m.Name)
			default:
				found[m.Name] = true
			}
			return true
		}
		if pr.Pred != nil {
			script.Walk(pr.Pred, note)
		}
		script.Walk(pr.Body, note)
	}
}

// unfit puts maps into jalon that the kernel cannot have, or not together with the process.
func (c *candidates) unfit() {
	for name, k := range c.maps {
		if k.used && k.kernel && !k.Sums && (k.Deletes && c.keeps || k.process && !k.common()) {
			c.drop(name)
		}
	}
}

// common reports whether sites in the process and in the kernel can use one table:
//
//  1. the parts of its keys are the same in both,
//  2. no element that is added to is deleted: the two words of an element that this changes are not changed at once,
//  3. no change in the process depends on a value that a program of the kernel, which interrupts it, may change.
func (k *SiteMap) common() bool {
	const parts = string(PartNumber) + string(PartText) + string(PartThread)
	return strings.Trim(k.Parts, parts) == "" && !k.Clears && !(k.Deletes && k.Adds) && !(k.depends && k.written)
}

// number is a map of numbers, nil if it is not at the sites.
func (c *candidates) number(name string) *SiteMap {
	if k := c.maps[name]; k != nil && scalar(k.Value) {
		return k
	}
	return nil
}

// numbers reports whether there is a map of numbers.
func (c *candidates) numbers() bool {
	for name := range c.maps {
		if c.number(name) != nil {
			return true
		}
	}
	return false
}

// drop puts a map into jalon.
func (c *candidates) drop(name string) {
	if c.maps[name] != nil {
		c.bad[name] = true
	}
}

// used are the maps that sites change, in the order of the script.
func (c *candidates) used() (out []*SiteMap) {
	for _, m := range c.p.Maps {
		if k := c.maps[m.Name]; k != nil && k.used {
			k.Parts = strings.ReplaceAll(k.Parts, string(partKernelComm), string(PartText))
			k.Both, k.InKernel = k.process && k.kernel && !k.Sums, k.kernel
			out = append(out, k)
		}
	}
	return out
}

// exits reports whether a probe at a place calls exit().
func exits(p *check.Program) bool {
	found := false
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if !RunsInJalon(p, pr, pl) {
				script.Walk(pr.Body, func(n script.Node) bool {
					if call, ok := n.(*script.Call); ok {
						found = found || wordOf(call) == "exit" || words.Find(call.Name) == nil && words.FindMapFunc(call.Name) == nil
					}
					return !found
				})
			}
		}
	}
	return found
}

// inJalon drops the maps that a part of the script changes in jalon, as it may not.
func (c *candidates) inJalon(n script.Node) {
	to := c.bad
	script.Walk(n, func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Assign:
			to[changedMap(n.Target)] = true
		case *script.Step:
			to[changedMap(n.X)] = true
		case *script.Addr:
			to[changedMap(n.X)] = true
		case *script.Call:
			row := words.Find(n.Name)
			if row != nil && len(n.Args) > 0 && row.Name == "clear" && c.maps[changedMap(n.Args[0])] != nil {
				c.maps[changedMap(n.Args[0])].Clears = true
			}
			if row != nil && len(n.Args) > 0 && (row.Name == "zero" || row.Name == "delete" || row.Name == "clear" && extreme(c.p, changedMap(n.Args[0]))) {
				to[changedMap(n.Args[0])] = true
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
