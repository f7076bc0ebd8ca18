package probe

import (
	"sort"
	"strings"
)

// Kind is a kind of place. Each has a file of its own, kind_*.go, with the one
// descriptor that parsing, both engines, help and documentation are made from.
type Kind struct {
	// Words are what a place of this kind begins with, before a colon; bpftrace's short
	// ones among them. None: it is known by its form.
	Words []string
	// Form is how it is written, Where what it means, Names what an expression can
	// name there.
	Form, Where, Names string

	// Kernel: it needs the kernel engine whatever else is asked for.
	Kernel bool
	// Attach is the kind of attachment of the kernel engine, by its name in package
	// bpf; "" where Find decides.
	Attach string
	// Find has a Finder find its sites for the kernel engine. Nil: that has no such place.
	Find func(Finder, *Place) error
	// Sites finds its addresses in a program's file. Nil: it has none.
	Sites func(p *Place, m Module, check func() error) ([]Site, error)

	RunTime   bool // Off is an address at run time, of whichever module is there
	Importing bool // the function may be one that the file takes from a library
	AnySource bool // without a file it may be a line of the kernel's source
	Gate      bool // hits can be kept from perf's users of the event

	parse  func(*parser, *Place, part) error // behind "WORD:"
	events map[string]string                 // names and aliases that Event may have
}

// Finder finds sites of the kernel engine: one method for each thing to look for.
type Finder interface {
	Events(p *Place, system, event string) error // static tracepoints with an event in tracefs
	RawTracepoints(p *Place) error               // static tracepoints by their arguments
	Probes(p *Place) error                       // instructions of the kernel
	ReturnProbes(p *Place) error                 // returns of kernel functions
	TypedFunctions(p *Place) error               // entries and returns of kernel functions that BTF describes
	Lines(p *Place) error                        // lines of the kernel's source, or of a program's
	Instructions(p *Place) error                 // instructions of a file
	Returns(p *Place) error                      // returns of functions of a file
	Markers(p *Place) error                      // USDT markers of a file
	Timer(p *Place) error
	Counter(p *Place, period uint64) error // period: where the place names none
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

// Kinds are all kinds of places: those of programs first, then by their words.
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

// Reference is docs/places.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Kinds of places

Made from the descriptors in internal/probe/kind_*.go by ` + "`make generate`" + `; a test compares them.
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

// Help lists the forms of all kinds, for the help of a command.
func Help() string {
	var forms []string
	for _, k := range Kinds() {
		forms = append(forms, k.Form)
	}
	return strings.Join(forms, ", ")
}
