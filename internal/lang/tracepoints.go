package lang

import (
	"fmt"
	"strings"
)

// File is the content of a file of GDB commands, for example from "save tracepoints".
type File struct {
	Tracepoints []Tracepoint
	// Variables are the trace state variables (tvariable).
	Variables []TraceVariable
	// Default is the default-collect list, or nil. It is already the first action of each tracepoint.
	Default *Action
}

// Tracepoint is one trace, ftrace or strace command and the commands that modify it. Its spans point into the
// text of the whole file.
type Tracepoint struct {
	Spec
	Kind     string // "trace", "ftrace" or "strace"
	Span     Span   // of the command line
	Line     int    // of the command, from 1
	Actions  []Action
	Pass     int // passcount: the trace ends at this hit; 0 for never
	Ignore   int // number of hits to skip at the start
	Disabled bool
}

// ActionKind is what an Action does.
type ActionKind uint8

// The kinds of action.
const (
	ActCollect ActionKind = iota // Text is a collect list
	ActEval                      // teval: Text is a list of expressions, evaluated without a result
	ActStep                      // while-stepping: Body runs after each of Steps instructions
)

// Action is one line of an actions list. Parse Text with ParseCollect; then move its diagnostics into the file:
// lang.Within(err, name, src, a.Span.Lo).
type Action struct {
	Kind ActionKind
	Text string
	Span Span // of Text; of the command when Text is empty
	Line int
	// Strings means that char pointers collect their strings (collect/s), at most StringLimit bytes of each
	// (collect/s80; 0 if no limit is given).
	Strings     bool
	StringLimit int
	// Default marks the list of default-collect.
	Default bool
	Steps   int
	Body    []Action
}

// TraceVariable is a trace state variable and the text of its initial value.
type TraceVariable struct {
	Name string // without the dollar
	Init string // "" for none
	Span Span   // of the name
	Line int
}

// ParseTracepoints reads a file of GDB's tracepoint commands, as "save
// tracepoints" writes it or by hand: trace, ftrace, strace and tp; condition,
// actions or commands, passcount, ignore, enable and disable, about $bpnum (the
// last tracepoint) or the number of a tracepoint, counted from 1 in the order
// of the file; tvariable and set default-collect. name is the Source of the
// diagnostics. The error is a *Diagnostic or Diagnostics, one for each bad line.
func ParseTracepoints(name, src string) ([]Tracepoint, error) {
	f, err := ParseFile(name, src)
	if err != nil {
		return nil, err
	}
	return f.Tracepoints, nil
}

// ParseFile is like ParseTracepoints but returns everything that the file defines.
func ParseFile(name, src string) (*File, error) {
	r := &fileReader{name: name, src: src, file: &File{}}
	for r.nextLine() {
		r.command()
	}
	if len(r.bad) > 0 {
		return nil, r.bad.Err()
	}
	if d := r.file.Default; d != nil {
		for i := range r.file.Tracepoints {
			t := &r.file.Tracepoints[i]
			t.Actions = append([]Action{*d}, t.Actions...)
		}
	}
	return r.file, nil
}

// fileReader reads a file line by line.
type fileReader struct {
	name, src string
	pos       int // of the next line
	next      int // its number, counted from 0
	// The current line: its number and its unread part.
	num  int
	line Span
	word Span // the command word

	file *File
	bad  Diagnostics
}

// nextLine advances to the next line with a command. A backslash at the end continues a line;
// "#" at the start makes it a comment.
func (r *fileReader) nextLine() bool {
	for r.pos < len(r.src) && len(r.bad) <= maxDiagnostics {
		lo, num := r.pos, r.next+1
		hi := lo
		for {
			end := strings.IndexByte(r.src[hi:], '\n')
			if end < 0 {
				hi = len(r.src)
				r.pos = hi
				break
			}
			r.next++
			r.pos = hi + end + 1
			hi += end
			if !strings.HasSuffix(strings.TrimSuffix(r.src[lo:hi], "\r"), "\\") {
				break
			}
			hi = r.pos
		}
		r.line, r.num = trim(r.src, Span{lo, hi}), num
		if text := r.rest(); text != "" && text[0] != '#' {
			return true
		}
	}
	return false
}

// rest returns the unread part of the line.
func (r *fileReader) rest() string { return r.src[r.line.Lo:r.line.Hi] }

// take reads n bytes of the line and the blanks after them.
func (r *fileReader) take(n int) Span {
	s := Span{r.line.Lo, r.line.Lo + n}
	r.line.Lo += n
	for n := spaceLen(r.rest()); n > 0; n = spaceLen(r.rest()) {
		r.line.Lo += n
	}
	return s
}

// takeWord reads up to the next blank.
func (r *fileReader) takeWord() (string, Span) {
	text := r.rest()
	n := 0
	for n < len(text) && spaceLen(text[n:]) == 0 {
		n++
	}
	s := r.take(n)
	return r.src[s.Lo:s.Hi], s
}

func (r *fileReader) fail(s Span, hint, format string, args ...any) {
	r.add(At(r.name, r.src, s, fmt.Sprintf(format, args...), hint))
}

func (r *fileReader) add(d *Diagnostic) { r.bad = r.bad.Add(d) }

// nothingMore reports an error if the line has unread text.
func (r *fileReader) nothingMore() {
	if r.rest() != "" {
		r.fail(r.line, "", "unexpected text")
	}
}

// command reads a line outside of action lists.
func (r *fileReader) command() {
	name := r.commandWord()
	do := findCommand(name)
	if do == nil {
		hint := "allowed are the commands that GDB's \"save tracepoints\" writes: trace, condition, actions, passcount, disable, tvariable, ..."
		if actionNamed(name) != "" {
			hint = "it belongs between \"actions\" and \"end\""
		} else if near := Nearest(name, commandNames(), 1); near != nil {
			hint = DidYouMean(near)
		}
		r.fail(r.word, hint, "unknown command %q", name)
		return
	}
	do(r)
}

// commandWord reads the name of a command: letters and dashes only, because a slash or a digit may follow
// directly.
func (r *fileReader) commandWord() string {
	text := r.rest()
	n := 0
	for n < len(text) && (text[n] == '-' || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z') {
		n++
	}
	if n == 0 {
		name, s := r.takeWord()
		r.word = s
		return name
	}
	r.word = r.take(n)
	return r.src[r.word.Lo:r.word.Hi]
}

// gdbCommand is a command with its shortest abbreviation in GDB.
type gdbCommand struct {
	name  string
	short int // least number of letters
	do    func(*fileReader)
}

func findCommand(word string) func(*fileReader) {
	for _, c := range topCommands {
		if len(word) >= c.short && strings.HasPrefix(c.name, word) {
			return c.do
		}
	}
	return nil
}

func commandNames() []string {
	var names []string
	for _, c := range topCommands {
		names = append(names, c.name)
	}
	return names
}

// last returns the tracepoint of $bpnum. If there is none yet, it reports a diagnostic at s and returns nil.
func (r *fileReader) last(s Span) *Tracepoint {
	if n := len(r.file.Tracepoints); n > 0 {
		return &r.file.Tracepoints[n-1]
	}
	r.fail(s, "a trace, ftrace or strace command must come first", "there is no tracepoint before this line")
	return nil
}
