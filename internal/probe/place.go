// Package probe parses places and resolves those of programs to sites: `main.c:9`, `handle`, `handle+12`,
// `*0x401136`, `uprobe:/usr/bin/bash:readline`, globs. Places of the kernel engine
// (`tracepoint:sched:sched_switch`) are parsed here and resolved by that engine.
//
// Import rule: probe imports lang (diagnostics) and debuginfo, never process or session.
package probe

import (
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/lang"
)

// Place is a parsed place. Fields that its kind does not use are zero.
type Place struct {
	Text string
	Kind *Kind
	Path string // uprobe, uretprobe, usdt: the file with the code; "" = any module of the process
	File string // source file of Line, of [FILE:]FUNC or of kprobe:FILE:LINE
	Line int
	Func string // function name or glob
	Off  uint64 // Offset, Entry, Kprobe: bytes; Address, FileOff, kprobe:0xADDR: the address

	Module string // kernel module of a function or raw tracepoint; "" = any
	System string // subsystem of a tracepoint, provider of a USDT marker ("" = any); may be a glob
	// Event is the name of an event, with aliases resolved: a tracepoint, marker or system call (may be globs),
	// or a software, hardware or process event.
	Event string
	Exit  bool // syscall:NAME:exit

	Freq   uint64        // Profile, Interval: times per second; if 0, Period is set
	Period time.Duration // Profile, Interval
	Count  uint64        // Software, Hardware: every Count-th event; 0: not given
}

// Glob reports whether one of the names is a pattern.
func (p *Place) Glob() bool {
	return isGlob(p.Func) || isGlob(p.System) || isGlob(p.Event) || isGlob(p.Module)
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// InKernel reports whether the place needs the kernel engine if no process is traced.
func (p *Place) InKernel() bool { return p.Kind.Kernel }

// Parse reads a place. The error is a *lang.Diagnostic.
func Parse(text string) (*Place, error) {
	t := strings.TrimSpace(text)
	lead := strings.Index(text, t)
	p := &parser{text: text, span: lang.Span{Lo: lead, Hi: lead + len(t)}}
	switch {
	case t == "":
		return nil, p.fail("a place is missing", "write FILE:LINE, a function, *ADDRESS or uprobe:PATH:FUNCTION")
	case t[0] == '*' && len(t) > 1 && (t[1] >= '0' && t[1] <= '9'):
		return p.address(t)
	}
	if kind, rest, ok := strings.Cut(t, ":"); ok && !strings.HasPrefix(rest, ":") {
		if kind == "uprobe" || kind == "u" {
			return p.uprobe(rest)
		}
		if k, ok := byWord[kind]; ok {
			return p.kind(k, part{rest, lead + len(kind) + 1})
		}
		if err := p.misspelled(kind, lead); err != nil {
			return nil, err
		}
	}
	return p.linespec(t)
}

type parser struct {
	text string
	span lang.Span
	form string // the notation of the kind, for hints
}

func (p *parser) fail(msg, hint string) error {
	return lang.At("place", p.text, p.span, msg, hint)
}

func (p *parser) address(t string) (*Place, error) {
	a, err := strconv.ParseUint(strings.TrimSpace(t[1:]), 0, 64)
	if err != nil {
		return nil, p.fail("malformed address", "write an address as *0x401136")
	}
	return &Place{Text: t, Kind: Address, Off: a}, nil
}

// uprobe reads PATH:FUNC[+OFF], PATH:ADDR and PATH@FILE:LINE, after "uprobe:".
func (p *parser) uprobe(rest string) (*Place, error) {
	text := strings.TrimSpace(p.text)
	if file, spec, ok := cutLast(rest, "@"); ok && !versioned(rest) {
		f, l, ok := fileLine(spec)
		if !ok {
			return nil, p.fail("expected a source line after @", "uprobe:PATH@file.c:12")
		}
		return &Place{Text: text, Kind: Line, Path: file, File: f, Line: l}, nil
	}
	file, fn, ok := cutPath(rest)
	if !ok || file == "" || fn == "" {
		return nil, p.fail("a uprobe place needs a file and a function", "uprobe:PATH:FUNCTION[+OFFSET] or uprobe:PATH@file.c:12")
	}
	if a, err := strconv.ParseUint(fn, 0, 64); err == nil {
		return &Place{Text: text, Kind: FileOff, Path: file, Off: a}, nil
	}
	name, off, err := p.offset(fn)
	if err != nil {
		return nil, err
	}
	if of, ok := strings.CutSuffix(name, ReturnSuffix); ok {
		return nil, p.fail("a uprobe place is an instruction, not the returns of a function", "uretprobe:"+file+":"+of)
	}
	return &Place{Text: text, Kind: Entry, Path: file, Func: name, Off: off}, nil
}

// versioned: the last @ of PATH:FUNC@VERSION begins the version of a symbol. That of PATH@FILE:LINE is followed
// by a line, and is not behind a function.
func versioned(rest string) bool {
	before, behind, _ := cutLast(rest, "@")
	if _, _, line := fileLine(behind); line || behind == "" {
		return false
	}
	_, fn, ok := cutPath(strings.TrimSuffix(before, "@"))
	return ok && fn != "" && !strings.ContainsAny(fn, "/.")
}

// linespec reads FILE:LINE, FILE:FUNC, FUNC and FUNC+OFF.
func (p *parser) linespec(t string) (*Place, error) {
	if f, l, ok := fileLine(t); ok {
		if l == 0 {
			return nil, p.fail("lines are numbered from 1", "")
		}
		return &Place{Text: t, Kind: Line, File: f, Line: l}, nil
	}
	file := ""
	fn := t
	if f, rest, ok := cutPath(t); ok && f != "" && (strings.ContainsAny(f, "./") || f[0] == '\'') {
		file, fn = strings.Trim(f, "'\""), rest
	}
	name, off, err := p.offset(fn)
	if err != nil {
		return nil, err
	}
	if name == "" || strings.ContainsAny(name, " \t;{}") && !spaced(name) {
		return nil, p.fail("this is not a place", "write file.c:line, a function, function+offset, *ADDRESS or uprobe:PATH:FUNCTION")
	}
	kind := Function
	if off != 0 || strings.HasSuffix(strings.TrimSpace(fn), "+0") {
		kind = Offset
	}
	return p.returns(&Place{Text: t, Kind: kind, File: file, Func: name, Off: off})
}

// spaced reports a name that may have blanks and braces: operators, parameters and template arguments in C++, what has no
// name in Rust ({impl#0}, {closure#0}), type arguments in Go.
func spaced(name string) bool {
	return strings.Contains(name, "operator") || strings.ContainsAny(name, "(<") || strings.Contains(name, "::{") || strings.Contains(name, "[go.shape.")
}

// offset splits FUNC+OFF. C++ names such as operator+ keep their plus.
func (p *parser) offset(s string) (string, uint64, error) {
	i := strings.LastIndexByte(s, '+')
	if i <= 0 || strings.HasSuffix(s[:i], "operator") || strings.HasSuffix(s[:i], "operator+") {
		return s, 0, nil
	}
	num := strings.TrimSpace(s[i+1:])
	off, err := strconv.ParseUint(num, 0, 64)
	if err != nil {
		return "", 0, p.fail("malformed offset "+strconv.Quote(num), "an offset is a number of bytes: FUNCTION+0x1c")
	}
	return strings.TrimSpace(s[:i]), off, nil
}

// cutLast cuts s at the last sep.
func cutLast(s, sep string) (string, string, bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// cutPath cuts s at the last single colon, so names with :: are not cut.
func cutPath(s string) (string, string, bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != ':' {
			continue
		}
		if i > 0 && s[i-1] == ':' {
			i--
			continue
		}
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// fileLine reads FILE:LINE.
func fileLine(s string) (string, int, bool) {
	f, l, ok := cutPath(s)
	if !ok || f == "" {
		return "", 0, false
	}
	n, err := strconv.Atoi(l)
	if err != nil || n < 0 {
		return "", 0, false
	}
	return strings.Trim(f, "'\""), n, true
}
