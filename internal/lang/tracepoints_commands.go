package lang

import (
	"strconv"
	"strings"
)

// topCommands are the commands outside action lists. If two share an abbreviation (such as "tp"), it means the
// earlier one.
var topCommands []gdbCommand

func init() { // as a variable it would refer to itself through the command table
	trace := func(kind string) func(*fileReader) {
		return func(r *fileReader) { r.trace(kind) }
	}
	topCommands = []gdbCommand{
		{"tp", 2, trace("trace")},
		{"trace", 2, trace("trace")},
		{"ftrace", 2, trace("ftrace")},
		{"strace", 3, trace("strace")},
		{"condition", 4, (*fileReader).condition},
		{"actions", 3, (*fileReader).actions},
		{"commands", 4, (*fileReader).actions},
		{"passcount", 4, (*fileReader).passcount},
		{"ignore", 3, (*fileReader).ignore},
		{"disable", 3, func(r *fileReader) { r.enable(false) }},
		{"enable", 2, func(r *fileReader) { r.enable(true) }},
		{"tvariable", 2, (*fileReader).tvariable},
		{"set", 3, (*fileReader).set},
	}
}

func (r *fileReader) trace(kind string) {
	t := Tracepoint{Kind: kind, Line: r.num, Span: Span{r.word.Lo, r.line.Hi}}
	// Add the tracepoint even if its place is bad, so that later commands find it. The file is rejected anyway.
	defer func() { r.file.Tracepoints = append(r.file.Tracepoints, t) }()
	if r.rest() == "" {
		r.fail(r.word, "without a place GDB would use the stopped program's pc", "a place must follow %q", r.src[r.word.Lo:r.word.Hi])
		return
	}
	spec, err := parseSpec(r.name, r.src, r.line)
	if d, ok := err.(*Diagnostic); ok {
		r.add(d)
		return
	}
	t.Spec = spec
}

// about reads the tracepoint of a command: $bpnum or a number.
func (r *fileReader) about() *Tracepoint {
	word, s := r.takeWord()
	if word == "" {
		r.fail(r.word, "", "a tracepoint must follow %q: $bpnum or its number", r.src[r.word.Lo:r.word.Hi])
		return nil
	}
	return r.find(word, s)
}

func (r *fileReader) find(word string, s Span) *Tracepoint {
	if word == "$bpnum" || word == "$tpnum" {
		return r.last(s)
	}
	n, ok := r.number(word, s)
	if !ok {
		return nil
	}
	if n == 0 || n > len(r.file.Tracepoints) {
		r.fail(s, "tracepoints in a file are numbered from 1; $bpnum is the last one", "there is no tracepoint %d before this line", n)
		return nil
	}
	return &r.file.Tracepoints[n-1]
}

// number reads a count. GDB would accept an expression, but writes numbers.
func (r *fileReader) number(word string, s Span) (int, bool) {
	n, err := strconv.ParseInt(word, 0, 32)
	if err != nil || n < 0 {
		r.fail(s, "", "%q is not a valid number here", word)
		return 0, false
	}
	return int(n), true
}

func (r *fileReader) condition() {
	t := r.about()
	if t == nil {
		return
	}
	if word := strings.HasPrefix(r.rest(), "-force-condition"); word {
		r.take(len("-force-condition"))
	}
	// Without an expression GDB removes the condition.
	t.CondSpan = r.line
	t.CondText = r.rest()
}

func (r *fileReader) passcount() {
	word, s := r.takeWord()
	if word == "" {
		r.fail(r.word, "", "a count must follow passcount")
		return
	}
	n, ok := r.number(word, s)
	if !ok {
		return
	}
	if r.rest() == "all" {
		for i := range r.file.Tracepoints {
			r.file.Tracepoints[i].Pass = n
		}
		return
	}
	t := (*Tracepoint)(nil)
	if r.rest() == "" {
		t = r.last(r.word)
	} else {
		t = r.about()
		r.nothingMore()
	}
	if t != nil {
		t.Pass = n
	}
}

func (r *fileReader) ignore() {
	t := r.about()
	word, s := r.takeWord()
	if word == "" {
		if t != nil {
			r.fail(r.word, "", "a tracepoint and a count must follow ignore")
		}
		return
	}
	if n, ok := r.number(word, s); ok && t != nil {
		t.Ignore = n
		r.nothingMore()
	}
}

// enable reads "disable", "disable $bpnum", "disable 1 2" and "disable breakpoints 1".
func (r *fileReader) enable(on bool) {
	for _, group := range []string{"breakpoints", "tracepoints"} {
		if strings.HasPrefix(r.rest(), group) {
			r.take(len(group))
		}
	}
	if r.rest() == "" {
		for i := range r.file.Tracepoints {
			r.file.Tracepoints[i].Disabled = !on
		}
		return
	}
	for r.rest() != "" {
		t := r.find(r.takeWord())
		if t == nil {
			return
		}
		t.Disabled = !on
	}
}

func (r *fileReader) tvariable() {
	n := identLen(strings.TrimPrefix(r.rest(), "$"))
	if n == 0 || r.rest()[0] != '$' {
		r.fail(r.line, "the form is: tvariable $name = value", "a name with a dollar must follow tvariable")
		return
	}
	s := r.take(1 + n)
	v := TraceVariable{Name: r.src[s.Lo+1 : s.Hi], Span: s, Line: r.num}
	if strings.HasPrefix(r.rest(), "=") {
		r.take(1)
		if v.Init = r.rest(); v.Init == "" {
			r.fail(s, "", "the value of $%s is missing", v.Name)
		}
	} else {
		r.nothingMore()
	}
	for i := range r.file.Variables {
		if r.file.Variables[i].Name == v.Name { // the last definition is valid, as in GDB
			r.file.Variables[i] = v
			return
		}
	}
	r.file.Variables = append(r.file.Variables, v)
}

// set reads "set default-collect LIST" and rejects other settings.
func (r *fileReader) set() {
	what, s := r.takeWord()
	if what != "default-collect" {
		r.fail(s, "the only supported setting is default-collect", "unknown setting %q", what)
		return
	}
	r.file.Default = nil
	if r.rest() != "" {
		r.file.Default = &Action{Kind: ActCollect, Text: r.rest(), Span: r.line, Line: r.num, Default: true}
	}
}
