package probe

import (
	"sort"
	"strings"
)

// Kind describes a kind of place. Each kind has its own file, kind_*.go, with one descriptor. Parsing, both
// engines, help and documentation use only the descriptor.
type Kind struct {
	// Words are the words before the first colon, including bpftrace's short ones. A kind without words is
	// recognised by its form.
	Words []string
	// Form is the notation, Where the meaning, and Names the names that expressions can use.
	Form, Where, Names string

	// Kernel means that the kind needs the kernel engine: always, or, if it has Sites, without a process.
	Kernel bool
	// Attach is the kernel engine's kind of attachment, by its name in package bpf; "" if Find chooses it.
	Attach string
	// Find finds the sites for the kernel engine by methods of the Finder. Nil: the kernel engine does not
	// support the kind.
	Find func(Finder, *Place) error
	// Sites finds the addresses in a program's file. Nil: the in-process engine does not support the kind.
	Sites func(p *Place, m Module, check func() error) ([]Site, error)

	// Own is what a hit at a single place of the kind shows where no collect list is given; "": nothing.
	Own string

	Returns   bool // the sites are the returns of the functions whose entries Sites gives
	RunTime   bool // Off is a run-time address, in any module
	Importing bool // the function may be imported from a library
	AnySource bool // a place without a file may be a line of the kernel's source
	Gate      bool // jalon gate can hide hits from perf

	parse  func(*parser, *Place, part) error // parses the text after "WORD:"
	events map[string]string                 // names and aliases allowed for Event
}

// Finder finds sites for the kernel engine. It has one method for each kind of search.
type Finder interface {
	Events(p *Place, system, event string) error // static tracepoints with an event in tracefs
	RawTracepoints(p *Place) error               // static tracepoints, by their raw arguments
	Iterators(p *Place) error                    // objects of the kernel
	Probes(p *Place) error                       // instructions of the kernel
	ReturnProbes(p *Place) error                 // returns of kernel functions
	TypedFunctions(p *Place) error               // entries and returns of kernel functions that BTF describes
	Lines(p *Place) error                        // lines of the kernel's source, or of a program's
	Instructions(p *Place) error                 // instructions of a file
	Returns(p *Place) error                      // returns of functions of a file
	Markers(p *Place) error                      // USDT markers of a file
	Timer(p *Place) error
	Counter(p *Place, period uint64) error // period is the default
}

var (
	kinds  []*Kind
	byWord = map[string]*Kind{}
)

// kind registers a descriptor.
func kind(k Kind) *Kind {
	kinds = append(kinds, &k)
	for _, w := range k.Words {
		byWord[w] = &k
	}
	return &k
}

// EventNames are the names of the events of a kind that has a fixed list of them.
func (k *Kind) EventNames() []string {
	var names []string
	for name, of := range k.events {
		if of == "" || of == name {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// KindNamed returns the kind of places that begin with a word and a colon, or nil.
func KindNamed(word string) *Kind { return byWord[word] }

// Kinds returns all kinds of places: first those of programs, then the others sorted by form.
func Kinds() []*Kind {
	list := append([]*Kind(nil), kinds...)
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Kernel != b.Kernel {
			return b.Kernel
		}
		return a.Form < b.Form
	})
	return list
}

// Reference returns the text of docs/places.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Kinds of places

Generated from the descriptors in internal/probe/kind_*.go by ` + "`make generate`" + `; a test compares them.
` + "`jalon list --kinds`" + ` prints the same.

| place | what it means | names that an expression can use |
|---|---|---|
`)
	for _, k := range Kinds() {
		b.WriteString("| `" + k.Form + "` | " + k.Where + " | " + k.Names + " |\n")
	}
	b.WriteString("\nShort words: ")
	var short []string
	for _, k := range Kinds() {
		if len(k.Words) > 1 {
			short = append(short, "`"+strings.Join(k.Words[1:], "`, `")+"` for `"+k.Words[0]+"`")
		}
	}
	b.WriteString(strings.Join(short, "; ") + ".\n")
	return b.String()
}

// Help lists the forms of all kinds, for --help.
func Help() string {
	var forms []string
	for _, k := range Kinds() {
		forms = append(forms, k.Form)
	}
	return strings.Join(forms, ", ")
}
