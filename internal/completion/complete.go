package completion

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// Candidate is what a word can become.
type Candidate struct {
	Text string // the whole word
	Help string // a few words about it; may be empty
}

// Target is what the rest of the command line traces.
type Target struct {
	Command string // the subcommand
	Pid     string // the argument of -p
	Program string // the first word after --
	Place   string // the place before an expression, without its condition
	Trace   string // the directory of report and export
}

// Source reads the system. A prefix is what the user has typed; candidates that do not begin with it are dropped. A
// source that finds nothing, or fails, returns nothing.
type Source interface {
	Places(prefix string, t Target) []Candidate
	Names(prefix string, t Target) []Candidate // of variables and fields, in expressions
	Processes() []Candidate
	Recordings() []Candidate // flight recorders that run
}

// expressions are the flags whose values are C expressions.
var expressions = []string{"collect", "by", "sum", "avg", "min", "maximum", "stats", "hist", "lhist", "where", "fields"}

// withPlaces are the commands whose arguments are places.
var withPlaces = []string{"trace", "record", "gate"}

// Complete returns what the word before the cursor can become. None means that the shell completes file names.
func Complete(app *kong.Application, left, right string, src Source) []Candidate {
	words := splitLine(left)
	current := words[len(words)-1]
	before := words[1:max(1, len(words)-1)] // without jalon itself
	if len(before) == 0 {
		return matching(commands(app), current.text)
	}
	c := command{src: src, target: Target{Command: before[0].text}}
	for _, n := range app.Children {
		if n.Name == before[0].text {
			c.flags = append(slices.Clone(app.Flags), n.Flags...)
			c.read(before[1:])
			if c.program {
				return nil
			}
			c.readRest(texts(right))
			return c.complete(current.text)
		}
	}
	return nil
}

func commands(app *kong.Application) []Candidate {
	var out []Candidate
	for _, n := range app.Children {
		if !n.Hidden {
			out = append(out, Candidate{n.Name, n.Help})
		}
	}
	return out
}

// command is a subcommand whose words are being completed.
type command struct {
	src     Source
	flags   []*kong.Flag
	target  Target
	waiting *kong.Flag // the last word is a flag, and the current one its value
	program bool       // the words after -- are those of a program
}

// read reads the words before the current one.
func (c *command) read(words []word) {
	for _, w := range words {
		c.word(w.text)
	}
}

// readRest reads the words behind the current one, for what they say about the target.
func (c *command) readRest(words []string) {
	waiting, place := c.waiting, c.target.Place
	c.waiting = nil
	for _, w := range words {
		c.word(w)
	}
	c.waiting, c.program, c.target.Place = waiting, false, place
}

func (c *command) word(text string) {
	switch {
	case c.program:
		if c.target.Program == "" {
			c.target.Program = text
		}
	case c.waiting != nil:
		if c.waiting.Name == "pid" {
			c.target.Pid = text
		}
		c.waiting = nil
	case text == "--":
		c.program = true
	case strings.HasPrefix(text, "-"):
		c.waiting = c.flagOf(text)
	default:
		if c.target.Trace == "" {
			c.target.Trace = text
		}
		c.target.Place, _, _ = strings.Cut(text, " if ")
	}
}

// flagOf returns the flag whose value is the next word; nil if there is none.
func (c *command) flagOf(text string) *kong.Flag {
	for _, f := range c.flags {
		if !f.IsBool() && (text == "--"+f.Name || f.Short != 0 && text == "-"+string(f.Short)) {
			return f
		}
	}
	return nil
}

func (c *command) complete(text string) []Candidate {
	name, value, attached := strings.Cut(text, "=")
	switch {
	case c.waiting != nil:
		return c.value(c.waiting, text, "")
	case attached && strings.HasPrefix(name, "--"):
		if f := c.flagOf(name); f != nil {
			return c.value(f, value, name+"=")
		}
		return nil
	case strings.HasPrefix(text, "-"):
		return matching(c.flagNames(), text)
	case slices.Contains(withPlaces, c.target.Command):
		return c.place(text)
	case c.target.Command == "snapshot":
		return matching(c.src.Recordings(), text)
	case c.target.Command == "list":
		return matching(c.src.Places(text, c.target), text)
	}
	return nil
}

func (c *command) flagNames() []Candidate {
	var out []Candidate
	for _, f := range c.flags {
		if !f.Hidden {
			out = append(out, Candidate{"--" + f.Name, f.Help})
		}
	}
	return out
}

// value completes the value of a flag; prefix stands before it in the same word.
func (c *command) value(f *kong.Flag, text, prefix string) []Candidate {
	var list []Candidate
	switch {
	case f.Name == "pid":
		list = c.src.Processes()
	case slices.Contains(expressions, f.Name):
		return c.expression(text, prefix)
	default:
		if f.IsSlice() { // the last of several
			if i := strings.LastIndexByte(text, ','); i >= 0 {
				prefix, text = prefix+text[:i+1], text[i+1:]
			}
		}
		for _, e := range f.EnumSlice() {
			list = append(list, Candidate{Text: e})
		}
	}
	return prefixed(matching(list, text), prefix)
}

// place completes PLACE [if COND].
func (c *command) place(text string) []Candidate {
	if place, condition, ok := strings.Cut(text, " if "); ok {
		c.target.Place = place
		return c.expression(condition, place+" if ")
	}
	return matching(c.src.Places(text, c.target), text)
}

// lastName matches the name at the end of an expression, with what comes before a member: args->NAME, p->q.NAME, $WORD.
var lastName = lazyregexp.New(`(?:[A-Za-z_$@][A-Za-z0-9_]*(?:->|\.))*[A-Za-z_$@]?[A-Za-z0-9_]*$`)

// expression completes the name at the end of an expression.
func (c *command) expression(text, prefix string) []Candidate {
	name := lastName.FindString(text)
	prefix += strings.TrimSuffix(text, name)
	return prefixed(matching(c.src.Names(name, c.target), name), prefix)
}

// matching returns the candidates that begin with a prefix, each once, sorted.
func matching(list []Candidate, prefix string) []Candidate {
	var out []Candidate
	for _, x := range list {
		if strings.HasPrefix(x.Text, prefix) && !strings.ContainsAny(x.Text, "\n\r\t") {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return strings.Compare(a.Text, b.Text) })
	return slices.CompactFunc(out, func(a, b Candidate) bool { return a.Text == b.Text })
}

func prefixed(list []Candidate, prefix string) []Candidate {
	for i := range list {
		list[i].Text = prefix + list[i].Text
	}
	return list
}
