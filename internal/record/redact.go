package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
)

// Redactor takes out of a trace what must not reach the disk: fields by their names, and texts that match patterns. Fields of a name are not
// there: they have no value, and the reason. Of a text, each byte that matches becomes a star.
type Redactor struct {
	names    []string // of fields and members; globs
	exprs    []string // whole expressions, without blanks
	patterns []*regexp.Regexp
	words    map[string]bool // whether an identifier is one of names
}

// redacted is the reason of a field without a value.
const redacted = "redacted"

// star is what the bytes of a text become.
const star = '*'

// NewRedactor makes a Redactor of the user's rules: /REGEXP/ for texts, anything else for fields.
func NewRedactor(rules []string) (*Redactor, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	r := &Redactor{words: map[string]bool{}}
	for _, rule := range rules {
		if len(rule) > 1 && rule[0] == '/' {
			text, ok := strings.CutSuffix(rule[1:], "/")
			if !ok {
				return nil, fmt.Errorf("--redact %s: a pattern ends with a slash, as it begins", rule)
			}
			p, err := regexp.Compile(text)
			if err != nil {
				return nil, fmt.Errorf("--redact %s: %w", rule, err)
			}
			if p.MatchString("") {
				return nil, fmt.Errorf("--redact %s: the pattern matches an empty text", rule)
			}
			r.patterns = append(r.patterns, p)
			continue
		}
		name := strings.Join(strings.Fields(rule), "")
		switch {
		case name == "":
			return nil, errors.New("--redact: an empty name of a field")
		case strings.ContainsAny(name, "$") || strings.ContainsFunc(name, func(c rune) bool { return !isWord(c) && !strings.ContainsRune("*?[]^-", c) }) || strings.Contains(name, "->"):
			r.exprs = append(r.exprs, name)
		default:
			if _, err := path.Match(name, ""); err != nil {
				return nil, fmt.Errorf("--redact %s: %w", rule, err)
			}
			r.names = append(r.names, name)
		}
	}
	return r, nil
}

func isWord(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// named reports whether an identifier is that of a field to redact.
func (r *Redactor) named(word string) bool {
	if word == "" || len(r.names) == 0 {
		return false
	}
	is, known := r.words[word]
	if !known {
		is = slices.ContainsFunc(r.names, func(name string) bool { ok, _ := path.Match(name, word); return ok })
		if len(r.words) < 1<<16 {
			r.words[word] = is
		}
	}
	return is
}

// Field reports whether an expression has something that is redacted by name.
func (r *Redactor) Field(expr string) bool {
	if r == nil {
		return false
	}
	if whole := strings.Join(strings.Fields(expr), ""); slices.ContainsFunc(r.exprs, func(x string) bool { return strings.Contains(whole, x) }) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(expr, func(c rune) bool { return !isWord(c) }), r.named)
}

// Text returns a text without what matches.
func (r *Redactor) Text(s string) string {
	if r == nil || !slices.ContainsFunc(r.patterns, func(p *regexp.Regexp) bool { return p.MatchString(s) }) {
		return s
	}
	b := []byte(s)
	r.scrub(b)
	return string(b)
}

// TextOf is Text for something that has a name, and is empty if that is redacted.
func (r *Redactor) TextOf(name, s string) string {
	if r != nil && r.named(name) {
		return ""
	}
	return r.Text(s)
}

// scrub replaces what matches by stars. A NUL ends a text, and another may begin behind it.
func (r *Redactor) scrub(b []byte) {
	for len(b) > 0 {
		n := slices.Index(b, 0)
		if n < 0 {
			n = len(b)
		}
		for _, p := range r.patterns {
			for _, m := range p.FindAllIndex(b[:n], -1) {
				fill(b[m[0]:m[1]])
			}
		}
		b = b[min(n+1, len(b)):]
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = star
	}
}

// scrubWide is scrub for characters of two or four bytes: a text that matches is replaced as a whole.
func (r *Redactor) scrubWide(b []byte, width int) {
	var runes []rune
	for len(b) >= width*(len(runes)+1) {
		at := b[width*len(runes):]
		if width == 2 {
			runes = append(runes, rune(binary.LittleEndian.Uint16(at)))
		} else {
			runes = append(runes, rune(binary.LittleEndian.Uint32(at)))
		}
	}
	text := string(runes)
	if width == 2 {
		units := make([]uint16, len(runes))
		for i, c := range runes {
			units[i] = uint16(c)
		}
		text = string(utf16.Decode(units))
	}
	if slices.ContainsFunc(r.patterns, func(p *regexp.Regexp) bool { return p.MatchString(text) }) {
		clear(b)
		for i := range runes {
			b[i*width] = star
		}
	}
}

// args is a command line of jalon without the rules themselves: they can be what is redacted.
func (r *Redactor) args(list []string) (out []string) {
	if r == nil {
		return list
	}
	for i, a := range list {
		switch {
		case i > 0 && list[i-1] == "--redact":
			a = redacted
		case strings.HasPrefix(a, "--redact="):
			a = "--redact=" + redacted
		}
		out = append(out, r.Text(a))
	}
	return out
}

// frames returns frames of a stack without what matches.
func (r *Redactor) frames(list []debuginfo.Frame) []debuginfo.Frame {
	if r == nil || len(r.patterns) == 0 {
		return list
	}
	out := slices.Clone(list)
	for i := range out {
		f := &out[i]
		f.Function, f.File, f.Module = r.Text(f.Function), r.Text(f.File), r.Text(f.Module)
	}
	return out
}

// dump takes out what a state dump has: its fields are named comm, program, command and path.
func (r *Redactor) dump(d *dump) {
	if r == nil {
		return
	}
	for i := range d.processes {
		p := &d.processes[i]
		p.Name, p.Program, p.Command = r.TextOf("comm", p.Name), r.TextOf("program", p.Program), r.TextOf("command", p.Command)
	}
	for i := range d.tasks {
		d.tasks[i].Name = r.TextOf("comm", d.tasks[i].Name)
	}
	for i := range d.mappings {
		d.mappings[i].Path = r.TextOf("path", d.mappings[i].Path)
	}
	for i := range d.files {
		d.files[i].Path = r.TextOf("path", d.files[i].Path)
	}
}

// Event returns the event as it may be shown. It is valid until the next one of its site.
func (r *Redactor) Event(ev *event.Event, x *Redacted) event.Event {
	out := *ev
	out.Comm = r.TextOf("comm", ev.Comm)
	if x != nil {
		out.Schema, out.Raw = x.Schema, x.apply(ev.Raw)
	}
	return out
}
