package interp

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/printf"
)

// trouble is what can go wrong while a script runs.
type trouble struct {
	text, hint string
	helper     bool   // a script may do it on purpose: reported with -k only
	call       string // bpftrace's name of the operation, for JSON; "" if it is not an operation of the kernel
	code       int    // its result
	message    string // and what that means
}

var (
	byZero        = &trouble{text: "division by 0; the result is 1"}
	outside       = &trouble{text: "the index is outside of the array; the value is 0"}
	missingRead   = &trouble{text: "the map has no such element; the value is 0", helper: true, call: "map_lookup_elem", message: "Success"}
	missingDelete = &trouble{text: "the map has no such element to delete", helper: true, call: "map_delete_elem", code: -2, message: "No such file or directory"}
	unread        = &trouble{text: "this could not be read (%s); the value is 0", call: "probe_read", code: -14, message: "Bad address"}
	unsent        = &trouble{text: "the signal was not sent (%s)"}
	notNumber     = &trouble{text: "the value is not a number (NaN): it is left out"}
	longLoop      = &trouble{text: "the loop has more than the %d passes that the site executes; this hit ends here"}
	notReached    = &trouble{text: "the site has not executed this pass of the loop; this hit ends here"}
	mapFull       = &trouble{text: "the map %s is full, with %d elements; the update is lost", hint: "config = { max_map_keys = N } or let %s = hash(N) makes room", call: "map_update_elem", code: -7, message: "Argument list too long"}
	mapWaits      = &trouble{text: "the map %s has no room: elements are deleted faster than jalon gives their slots to others; the update is lost", hint: mapFull.hint, call: mapFull.call, code: mapFull.code, message: mapFull.message}
)

// warned is a warning at a place of the script.
type warned struct {
	at  script.Node
	why *trouble
}

// warn reports what has gone wrong, once for each place; the end reports how often it was.
func (m *Machine) warn(at script.Node, why *trouble, args ...any) {
	if m.opts.NoWarn || why.helper && !m.opts.Helpers {
		return
	}
	w := warned{at, why}
	if m.warned[w]++; m.warned[w] > 1 {
		return
	}
	m.order = append(m.order, w)
	d := diagnostic(at, why, args)
	if !m.opts.JSON {
		fmt.Fprintln(m.opts.Err, rendered(m, d, why))
		return
	}
	if why == unread {
		at = read(at)
	}
	line, col := position(at)
	if why.call != "" {
		fmt.Fprintf(m.opts.Out, "{\"type\": \"helper_error\", \"msg\": %s, \"helper\": %q, \"retcode\": %d", printf.Quote(why.message), helper(m, why), why.code)
	} else {
		fmt.Fprintf(m.opts.Out, "{\"type\": \"runtime_error\", \"msg\": %s", printf.Quote(d.Msg))
	}
	fmt.Fprintf(m.opts.Out, ", \"filename\": %s, \"line\": %d, \"col\": %d}\n", printf.Quote(fileName(at)), line, col)
}

// read is the part of an expression that names the memory: of p->x and p[i] it is p.
func read(at script.Node) script.Node {
	switch x := at.(type) {
	case *script.Field:
		return x.X
	case *script.Index:
		return x.X
	}
	return at
}

// helper is bpftrace's name of the operation that failed.
func helper(m *Machine, why *trouble) string {
	switch {
	case why != unread:
		return why.call
	case m.hit != nil && m.hit.Site.Point.Provider.User:
		return why.call + "_user"
	}
	return why.call + "_kernel"
}

// rendered is the text of a warning.
func rendered(m *Machine, d *lang.Diagnostic, why *trouble) string {
	switch {
	case m.opts.Render == nil:
		return d.Render("warning")
	case why.call == "":
		return m.opts.Render(d, "warning", "")
	}
	return m.opts.Render(d, "warning", fmt.Sprintf("helper: %s, retcode: %d", helper(m, why), why.code))
}

// CommandLine is the name of a script that is written on the command line.
const CommandLine = "-e"

// fileName is the name of a script in JSON: bpftrace's.
func fileName(at script.Node) string {
	if name := at.File().Name; name != CommandLine {
		return name
	}
	return "stdin"
}

// diagnostic is a warning with its position.
func diagnostic(at script.Node, why *trouble, args []any) *lang.Diagnostic {
	hint := why.hint
	if why == mapFull || why == mapWaits {
		hint = fmt.Sprintf(hint, args[0])
	}
	text := why.text
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return at.File().At(at.Span(), text, hint)
}

// Repeated returns a line for each warning that was due more than once.
func (m *Machine) Repeated() []string {
	var out []string
	for _, w := range m.order {
		if n := m.warned[w]; n > 1 {
			line, col := position(w.at)
			text := w.why.text
			switch w.why {
			case mapFull, mapWaits:
				text = "the map is full; the update is lost"
			case unread:
				text = "this could not be read; the value is 0"
			case unsent:
				text = "the signal was not sent"
			}
			out = append(out, fmt.Sprintf("%s:%d:%d: %s (%d times)", w.at.File().Name, line, col, text, n))
		}
	}
	return out
}

// make returns an element of a map, which is made if it is missing; nil if the map is full.
func (m *Machine) make(at script.Node, t *table, key val) *cell {
	c := t.make(key)
	if c == nil {
		m.warn(at, mapFull, t.Name, t.limit)
	}
	return c
}

// position is the line and column of a part of a script, from 1.
func position(at script.Node) (line, col int) {
	line, col = 1, 1
	for _, c := range []byte(at.File().Text[:at.Span().Lo]) {
		if col++; c == '\n' {
			line, col = line+1, 1
		}
	}
	return line, col
}

// signalTexts are what signals mean, as strsignal(3) has it.
var signalTexts = [...]string{
	1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction", 5: "Trace/breakpoint trap", 6: "Aborted", 7: "Bus error",
	8: "Floating point exception", 9: "Killed", 10: "User defined signal 1", 11: "Segmentation fault", 12: "User defined signal 2",
	13: "Broken pipe", 14: "Alarm clock", 15: "Terminated", 16: "Stack fault", 17: "Child exited", 18: "Continued",
	19: "Stopped (signal)", 20: "Stopped", 21: "Stopped (tty input)", 22: "Stopped (tty output)", 23: "Urgent I/O condition",
	24: "CPU time limit exceeded", 25: "File size limit exceeded", 26: "Virtual timer expired", 27: "Profiling timer expired",
	28: "Window changed", 29: "I/O possible", 30: "Power failure", 31: "Bad system call",
}
