package interp

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/printf"
)

func (m *library) exit(_ script.Expr, args []script.Expr) val {
	m.end(int(int32(m.literal(args, 0, 0))))
	abandon(nil)
	return val{}
}

// formatted is the text of printf and the like.
func (m *library) formatted(args []script.Expr) string {
	f, err := printf.Parse(m.p.Consts[args[0]].Str)
	if err != nil {
		panic("BUG: a format that the checker did not refuse: " + err.Error())
	}
	vals := make([]printf.Value, len(args)-1)
	for i, a := range args[1:] {
		vals[i] = printed(m.expr(a), m.typeOf(a))
	}
	return f.Format(vals)
}

func (m *library) printf(_ script.Expr, args []script.Expr) val {
	m.line("printf", m.formatted(args))
	return val{}
}

// message is errorf or warnf.
func (m *library) message(at script.Expr, args []script.Expr) val {
	text, kind, word := m.formatted(args), "warnf", "warning"
	if strings.HasPrefix(at.(*script.Call).Name, "errorf") {
		kind, word = "errorf", "error"
		m.errors++
	}
	if kind == "errorf" || !m.opts.NoWarn {
		m.say(at, kind, word, text)
	}
	return val{}
}

// expansions writes where the macros were called in which a message is, the innermost first.
func expansions(m *library, at script.Node, word string) {
	for {
		call, ok := at.(*script.Call)
		if !ok || m.p.Expanded[call] == nil {
			return
		}
		at = m.p.Expanded[call]
		d := at.File().At(at.Span(), "expanded from", "")
		_, _, _, shown := d.Line()
		fmt.Fprintf(m.opts.Err, "%s\n%s\n", m.opts.Message(d, word), shown)
	}
}

// say writes an error or warning with its position.
func (m *library) say(at script.Node, kind, word, text string) {
	line, col := position(at)
	if m.opts.JSON {
		fmt.Fprintf(m.opts.Out, "{\"type\": %q, \"msg\": %s, \"filename\": %s, \"line\": %d, \"col\": %d}\n", kind, printf.Quote(text), printf.Quote(fileName(at)), line, col)
		return
	}
	if m.opts.Message != nil {
		fmt.Fprintln(m.opts.Err, m.opts.Message(at.File().At(at.Span(), text, ""), word))
		expansions(m, at, word)
		return
	}
	fmt.Fprintf(m.opts.Err, "%s:%d:%d: %s: %s\n", at.File().Name, line, col, word, text)
}

func (m *library) assert(at script.Expr, args []script.Expr) val {
	if !m.truth(args[0]) {
		m.errors++
		m.say(at, "errorf", "error", "assert failed: "+cstr(m.expr(args[1]).s))
		m.end(1)
		abandon(nil)
	}
	return val{}
}

func (m *library) time(_ script.Expr, args []script.Expr) val {
	layout := "%H:%M:%S\n"
	if len(args) > 0 {
		layout = m.expr(args[0]).s
	}
	m.line("time", strftime(layout, m.opts.Now()))
	return val{}
}

func (m *library) strftime(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[1]).n
	at := time.Unix(0, int64(n))
	if c := m.typeOf(args[1]).Clock; c != "tai" && c != "sw_tai" {
		at = m.boot.Add(time.Duration(n))
	}
	return val{s: strftime(m.expr(args[0]).s, at)}
}

func (m *library) cat(at script.Expr, args []script.Expr) val {
	name := m.formatted(args)
	f, err := os.Open(name)
	if err != nil {
		m.say(at, "errorf", "error", err.Error())
		return val{}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, m.p.Config.Int("max_cat_bytes")))
	if err != nil {
		m.say(at, "errorf", "error", err.Error())
	}
	m.line("cat", string(text))
	return val{}
}

func (m *library) system(at script.Expr, args []script.Expr) val {
	out, err := m.opts.System(m.formatted(args))
	if err != nil {
		m.say(at, "warnf", "warning", err.Error())
	}
	m.line("syscall", string(out))
	return val{}
}
