package tracepoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Variable is a trace state variable of a file.
type Variable struct {
	Name    string // without the dollar
	Initial int64
	// Inner: the user does not know it.
	Inner bool
}

// Variables are those of a session, by number. Tracepoints of a session share them.
type Variables struct {
	List []Variable
}

// Add adds variables. One of the same name replaces the one before, as in GDB.
func (v *Variables) Add(list ...Variable) {
	for _, x := range list {
		if i := slices.IndexFunc(v.List, func(y Variable) bool { return y.Name == x.Name }); i >= 0 {
			v.List[i] = x
			continue
		}
		v.List = append(v.List, x)
	}
}

// Numbers are the numbers of the variables in programs, of which the first is given.
func (v *Variables) Numbers(first int64) map[string]int64 {
	if v == nil || len(v.List) == 0 {
		return nil
	}
	numbers := map[string]int64{}
	for i, x := range v.List {
		numbers[x.Name] = first + int64(i)
	}
	return numbers
}

// variablesOf reads the definitions of a file. Those that are jalon's own are left out: GDB saves them too.
func variablesOf(name, src string, file *lang.File) (*Variables, lang.Diagnostics) {
	v := &Variables{}
	var bad lang.Diagnostics
	for i := range file.Variables {
		def := &file.Variables[i]
		if sema.IsGDBVariable(def.Name) {
			continue
		}
		n, err := int64(0), error(nil)
		if def.Init != "" {
			n, err = strconv.ParseInt(strings.ReplaceAll(def.Init, " ", ""), 0, 64)
		}
		if err != nil {
			bad = bad.Add(lang.At(name, src, def.Span, fmt.Sprintf("the value of $%s is not a number: %s", def.Name, def.Init), "tvariable $"+def.Name+" = 1"))
		}
		v.Add(Variable{Name: def.Name, Initial: n})
	}
	return v, bad
}

// uses reports whether a text names a variable.
func (v *Variables) uses(text string) bool {
	return slices.ContainsFunc(v.List, func(x Variable) bool { return !x.Inner && names(text, x.Name) })
}

// names reports whether a text has $name.
func names(text, name string) bool {
	for {
		_, rest, ok := strings.Cut(text, "$"+name)
		if !ok {
			return false
		}
		if rest == "" || !isWord(rest[0]) {
			return true
		}
		text = rest
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// actionList reads the lines of a tracepoint's action list: collect lists, and teval as actions. What is collected
// is taken behind all actions; so where a later teval may change a variable of an item, an action keeps its value at that point.
type actionList struct {
	name, src string
	vars      *Variables
	tp        *Tracepoint
	bad       lang.Diagnostics
	locals    int
}

func (l *actionList) read(actions []lang.Action) {
	for i := range actions {
		a := &actions[i]
		text := lang.Text{Source: l.name, Whole: l.src, Span: a.Span}
		switch a.Kind {
		case lang.ActCollect:
			list, err := text.ParseCollect()
			if err != nil {
				l.bad = Append(l.bad, err)
			}
			l.keep(list, text, actions[i+1:])
			l.tp.Collect = append(l.tp.Collect, list...)
		case lang.ActEval:
			x, err := lang.ParseCondition(text) // one expression, or several separated by commas
			if err != nil {
				l.bad = Append(l.bad, err)
				continue
			}
			l.tp.UsesVariables = true
			l.tp.Actions = append(l.tp.Actions, sema.Action{Do: sema.Eval, Value: x.X, From: text})
		}
	}
}

// keep adds actions for the variables that the items of a list have, and that the actions behind it name.
func (l *actionList) keep(list []lang.Collect, text lang.Text, later []lang.Action) {
	var kept map[string]int
	for _, v := range l.vars.List {
		changed := slices.ContainsFunc(later, func(a lang.Action) bool { return a.Kind == lang.ActEval && names(a.Text, v.Name) })
		if !changed || !names(text.String(), v.Name) {
			continue
		}
		x, err := lang.Translated("$"+v.Name, text)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		if kept == nil {
			kept = map[string]int{}
		}
		kept[v.Name] = l.locals
		l.tp.Actions = append(l.tp.Actions, sema.Action{Do: sema.Keep, Local: l.locals, Value: x, From: text})
		l.locals++
	}
	for i := range list {
		list[i].Kept = kept
	}
}

// endedVariable is not 0 when a pass count is reached.
const endedVariable = "jalon_ended"

// Ended is the number of the variable that is not 0 when a pass count is reached, so that later hits set no variable; 0 if this tracepoint sets
// none, or no tracepoint has a pass count.
func (tp *Tracepoint) Ended() int64 {
	if !tp.UsesVariables {
		return 0
	}
	return tp.Numbers[endedVariable]
}

// endTogether makes the hit at which a pass count is reached the last one that sets variables, as GDB's run ends there.
func endTogether(vars *Variables, tps []*Tracepoint) {
	uses := slices.ContainsFunc(tps, func(tp *Tracepoint) bool { return tp.UsesVariables })
	if !uses || !slices.ContainsFunc(tps, func(tp *Tracepoint) bool { return tp.Pass > 0 }) {
		return
	}
	vars.Add(Variable{Name: endedVariable, Inner: true})
	for _, tp := range tps {
		if tp.Pass == 0 {
			continue
		}
		tp.UsesVariables = true
		count := fmt.Sprintf("jalon_hits_%d", counters.Add(1))
		vars.Add(Variable{Name: count, Inner: true})
		local := fmt.Sprintf("@local(%d)", innerLocal)
		tp.Actions = append([]sema.Action{
			{Do: sema.Keep, Local: innerLocal, Value: inner("$" + count + " += 1")},
			{Do: sema.Leave, If: inner(fmt.Sprintf("%s > %d", local, tp.Pass))},
			{Do: sema.Eval, Value: inner(fmt.Sprintf("%s == %d ? ($%s = 1) : 0", local, tp.Pass, endedVariable))},
		}, tp.Actions...)
	}
}

// counters numbers the variables that count hits: several files may be read.
var counters atomic.Int64

// innerLocal is the number of a local that no list has.
const innerLocal = 1 << 20

func inner(c string) lang.Expr {
	x, err := lang.Translated(c, lang.TextOf("passcount", c))
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", c, err))
	}
	return x
}
