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
	"github.com/jalon-trace/jalon/internal/lazyregexp"
	"github.com/jalon-trace/jalon/internal/statedump"
)

// Redactor takes out of a trace what must not reach the disk: fields by their names, and texts that match patterns. Fields of a name are not
// there: they have no value, and the reason. Of a text, each byte that matches becomes a star.
type Redactor struct {
	names    []*nameRule // of fields and members
	members  []*nameRule // of members only: the last names of rules such as req->key
	exprs    []*nameRule // parts of expressions, without blanks
	patterns []*regexp.Regexp
	words    map[string]bool // whether an identifier is one of names
}

// nameRule is a rule of the user.
type nameRule struct {
	name string // a glob, or a part of an expression
	rule string
	used *bool // something was redacted by it
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
			if err := r.path(name, rule); err != nil {
				return nil, err
			}
		default:
			if _, err := path.Match(name, ""); err != nil {
				return nil, fmt.Errorf("--redact %s: %w", rule, err)
			}
			r.names = append(r.names, &nameRule{name, rule, new(bool)})
		}
	}
	return r, nil
}

// path adds a rule that is not a plain name. In a collected structure no path is written, so the last name counts for members there.
func (r *Redactor) path(name, rule string) error {
	x := &nameRule{name, rule, new(bool)}
	r.exprs = append(r.exprs, x)
	at := max(strings.LastIndexByte(name, '.'), strings.LastIndex(name, "->")+1)
	if at <= 0 || strings.ContainsFunc(name[at+1:], func(c rune) bool { return !isWord(c) && !strings.ContainsRune("*?[]^-", c) }) || name[at+1:] == "" {
		return nil
	}
	if _, err := path.Match(name[at+1:], ""); err != nil {
		return fmt.Errorf("--redact %s: %w", rule, err)
	}
	r.members = append(r.members, &nameRule{name[at+1:], rule, x.used})
	return nil
}

// Unused returns the rules by name that have redacted nothing yet.
func (r *Redactor) Unused() (list []string) {
	if r == nil {
		return nil
	}
	for _, x := range slices.Concat(r.names, r.exprs) {
		if !*x.used {
			list = append(list, x.rule)
		}
	}
	return list
}

// matching reports whether one of the rules is for a name, and notes which.
func matching(rules []*nameRule, word string) (is bool) {
	for _, x := range rules {
		if ok, _ := path.Match(x.name, word); ok {
			*x.used, is = true, true
		}
	}
	return is
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
		is = matching(r.names, word)
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
	is := false
	whole := strings.Join(strings.Fields(expr), "")
	for _, x := range r.exprs {
		if strings.Contains(whole, x.name) {
			*x.used, is = true, true
		}
	}
	for _, at := range words.FindAllStringIndex(whole, -1) {
		word := whole[at[0]:at[1]]
		if r.named(word) || (strings.HasSuffix(whole[:at[0]], ".") || strings.HasSuffix(whole[:at[0]], "->")) && r.member(word) {
			is = true
		}
	}
	return is
}

// words are the identifiers and numbers of an expression.
var words = lazyregexp.New(`[0-9A-Za-z_\x{80}-\x{10ffff}]+`)

// member reports whether a member of a structure is redacted by its name.
func (r *Redactor) member(name string) bool {
	return r.named(name) || name != "" && matching(r.members, name)
}

// byName reports whether anything is redacted by its name.
func (r *Redactor) byName() bool { return len(r.names) > 0 || len(r.members) > 0 }

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
		f.Function, f.File = r.Text(f.Function), r.Text(f.File)
		if name := r.Text(f.Module); name != f.Module {
			f.Module, f.BuildID, f.Address = name, "", 0 // a build-id names the file too
		}
	}
	return out
}

// Unwinder returns frames without what matches.
func (r *Redactor) Unwinder(of func(*event.Event, *event.Value) []debuginfo.Frame) func(*event.Event, *event.Value) []debuginfo.Frame {
	if r == nil || of == nil || len(r.patterns) == 0 {
		return of
	}
	return func(ev *event.Event, v *event.Value) []debuginfo.Frame { return r.frames(of(ev, v)) }
}

// Symbols returns names of addresses without what matches.
func (r *Redactor) Symbols(of func(uint64) string) func(uint64) string {
	if r == nil || of == nil || len(r.patterns) == 0 {
		return of
	}
	return func(addr uint64) string { return r.Text(of(addr)) }
}

// dump takes out what a state dump has: its fields are named comm, program, command and path.
func (r *Redactor) dump(d *statedump.Dump) {
	if r == nil {
		return
	}
	for i := range d.Processes {
		p := &d.Processes[i]
		p.Name, p.Program, p.Command = r.TextOf("comm", p.Name), r.TextOf("program", p.Program), r.TextOf("command", p.Command)
	}
	for i := range d.Tasks {
		d.Tasks[i].Name = r.TextOf("comm", d.Tasks[i].Name)
	}
	for i := range d.Mappings {
		d.Mappings[i].Path = r.TextOf("path", d.Mappings[i].Path)
	}
	for i := range d.Files {
		d.Files[i].Path = r.TextOf("path", d.Files[i].Path)
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
