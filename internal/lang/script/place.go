package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// Place is an attach point with its parts.
type Place struct {
	Point    *Point
	Label    string // in label=kprobe:f
	Provider *Provider
	// Target is a module, a program or library, a subsystem of tracepoints, an event; Namespace is a usdt
	// probe's, Language is cpp.
	Target, Namespace, Language string
	// Name is a function, a tracepoint, a static probe, an iterator, a signal, a test.
	Name      string
	Offset    uint64 // after Name
	Address   uint64 // in place of Name if HasAddress
	HasAddr   bool
	File      string // uprobe:target@file:line:col
	Line, Col uint64
	Nanos     uint64 // of profile and interval; 0 if Hertz
	Hertz     uint64
	Count     uint64 // of hardware and software events; 0 for the default
	Length    uint64 // of a watchpoint
	Mode      string // of a watchpoint, its letters in alphabetical order
	Pin       string // of an iterator
	Program   uint64 // the id of an eBPF program
}

// Wildcard reports whether the place has a wildcard.
func (pl *Place) Wildcard() bool {
	return strings.Contains(pl.Target+pl.Namespace+pl.Name, "*") || strings.Contains(pl.Name, "?") && pl.Language == ""
}

// Provider is a kind of attach points.
type Provider struct {
	Name    string
	Aliases []string
	Forms   []string // how it is written, after the name
	Doc     string
	// Args is how the arguments are read: "args", "argN", both, or "".
	Args   string
	Retval bool // the value that a function returns can be read
	User   bool // it runs in a process: pointers are addresses of the process
	Timer  bool // it has no process of its own
	min    int  // parts after the name
	max    int
	parse  func(*Place, []string) error
}

// Providers is the table of kinds, in the order of the documentation.
var Providers = []*Provider{
	{Name: "begin", Doc: "before all other probes are attached", parse: plain},
	{Name: "end", Doc: "after all other probes are detached", parse: plain},
	{Name: "self", Forms: []string{"signal:SIGUSR1"}, Doc: "jalon receives the signal", min: 2, max: 2, parse: selfPlace},
	{Name: "test", Forms: []string{"NAME"}, Doc: "a test, run by --test; passes if it returns 0 or nothing", min: 1, max: 1, parse: named},
	{Name: "bench", Forms: []string{"NAME"}, Doc: "a benchmark, run by --bench", min: 1, max: 1, parse: named},
	{Name: "kprobe", Aliases: []string{"k"}, Forms: []string{"[MODULE:]FUNC", "[MODULE:]FUNC+OFFSET", "ADDRESS"}, Args: "argN", Doc: "an instruction of the kernel; ADDRESS needs --unsafe", min: 1, max: 2, parse: kernelFunc},
	{Name: "kretprobe", Aliases: []string{"kr"}, Forms: []string{"[MODULE:]FUNC"}, Retval: true, Doc: "a function of the kernel returns", min: 1, max: 2, parse: kernelFunc},
	{Name: "fentry", Aliases: []string{"f", "kfunc"}, Forms: []string{"[MODULE:]FUNC", "bpf:[ID:]PROGRAM"}, Args: "args", Doc: "a function of the kernel, or an eBPF program, begins", min: 1, max: 3, parse: tramp},
	{Name: "fexit", Aliases: []string{"fr", "kretfunc"}, Forms: []string{"[MODULE:]FUNC", "bpf:[ID:]PROGRAM"}, Args: "args", Retval: true, Doc: "a function of the kernel, or an eBPF program, returns", min: 1, max: 3, parse: tramp},
	{Name: "tracepoint", Aliases: []string{"t"}, Forms: []string{"SUBSYSTEM:EVENT"}, Args: "args", Doc: "a static tracepoint of the kernel", min: 1, max: 2, parse: event},
	{Name: "rawtracepoint", Aliases: []string{"rt"}, Forms: []string{"[MODULE:]EVENT"}, Args: "args argN", Doc: "a static tracepoint of the kernel, with the arguments of the kernel's call", min: 1, max: 2, parse: rawEvent},
	{Name: "uprobe", Aliases: []string{"u"}, Forms: []string{"BINARY:FUNC", "BINARY:FUNC+OFFSET", "BINARY:ADDRESS", "BINARY@FILE:LINE[:COLUMN]", `BINARY:cpp:"DEMANGLED"`}, Args: "argN args", User: true, Doc: "an instruction of a program or library", min: 1, max: 5, parse: userFunc},
	{Name: "uretprobe", Aliases: []string{"ur"}, Forms: []string{"BINARY:FUNC", `BINARY:cpp:"DEMANGLED"`}, Retval: true, User: true, Doc: "a function of a program or library returns", min: 1, max: 3, parse: userFunc},
	{Name: "usdt", Aliases: []string{"U"}, Forms: []string{"BINARY:[NAMESPACE:]PROBE"}, Args: "argN", User: true, Doc: "a static probe of a program or library", min: 1, max: 3, parse: static},
	{Name: "profile", Aliases: []string{"p"}, Forms: []string{"DURATION", "us:N", "ms:N", "s:N", "hz:N"}, Timer: true, Doc: "a timer on each CPU", min: 1, max: 2, parse: timer},
	{Name: "interval", Aliases: []string{"i"}, Forms: []string{"DURATION", "us:N", "ms:N", "s:N", "hz:N"}, Timer: true, Doc: "a timer on one CPU", min: 1, max: 2, parse: timer},
	{Name: "software", Aliases: []string{"s"}, Forms: []string{"EVENT[:COUNT]"}, Doc: "a software event of perf_event_open: every COUNT-th", min: 1, max: 2, parse: counted(SoftwareEvents, "software event")},
	{Name: "hardware", Aliases: []string{"h"}, Forms: []string{"EVENT[:COUNT]"}, Doc: "a hardware event of perf_event_open: every COUNT-th", min: 1, max: 2, parse: counted(HardwareEvents, "hardware event")},
	{Name: "watchpoint", Aliases: []string{"w"}, Forms: []string{"ADDRESS:LENGTH:MODE"}, Doc: "LENGTH (1, 2, 4, 8) bytes of memory are read (r), written (w) or executed (x)", min: 3, max: 3, parse: watch},
	{Name: "iter", Aliases: []string{"it"}, Forms: []string{"NAME[:PIN]"}, Doc: "once for each object of the kernel of a kind (task, task_file, task_vma, ...)", min: 1, max: 2, parse: iterator},
}

// SoftwareEvents and HardwareEvents are the events of perf_event_open that have names.
var (
	SoftwareEvents = strings.Fields("alignment-faults bpf-output context-switches cs cpu-clock cpu cpu-migrations dummy emulation-faults major-faults minor-faults page-faults faults task-clock")
	HardwareEvents = strings.Fields("backend-stalls branch-instructions branches branch-misses bus-cycles cache-misses cache-references cpu-cycles cycles frontend-stalls instructions ref-cycles")
)

// FindProvider returns the kind with a name or alias; names may be in upper case, aliases may not.
func FindProvider(name string) *Provider {
	for _, pr := range Providers {
		if strings.EqualFold(pr.Name, name) || slices.Contains(pr.Aliases, name) {
			return pr
		}
	}
	return nil
}

// ParsePlace parses the text of an attach point. param returns the value of a positional parameter, "" for one
// that was not given.
func ParsePlace(pt *Point, param func(n int) string) (*Place, error) {
	fail := func(format string, args ...any) error {
		return pt.File().At(pt.Span(), fmt.Sprintf(format, args...), "")
	}
	text, err := withParams(pt.Text, param)
	if err != nil {
		return nil, fail("%s", err)
	}
	parts, err := splitPlace(text, param)
	if err != nil {
		return nil, fail("%s", err)
	}
	pl := &Place{Point: pt}
	if label, rest, ok := strings.Cut(parts[0], "="); ok && rest != "" {
		pl.Label, parts[0] = label, rest
	}
	pl.Provider = FindProvider(parts[0])
	if pl.Provider == nil {
		var names []string
		for _, pr := range Providers {
			names = append(names, pr.Name)
		}
		d := pt.File().At(pt.Span(), fmt.Sprintf("there is no probe type %q", parts[0]), "")
		switch near := lang.Nearest(parts[0], names, 1); {
		case parts[0] == "syscall" && len(parts) == 2:
			d.Hint = "the entry of a system call is tracepoint:syscalls:sys_enter_" + parts[1]
		case len(near) > 0:
			d.Hint = fmt.Sprintf("did you mean %q?", near[0])
		case len(parts) == 1:
			d.Hint = fmt.Sprintf("a function of a program is uprobe:FILE:%s, of the kernel kprobe:%[1]s", parts[0])
		case len(parts) == 2:
			d.Hint = fmt.Sprintf("an event of the kernel is tracepoint:%s:%s, a function of a program uprobe:FILE:%[2]s", parts[0], parts[1])
		}
		return nil, d
	}
	pr := pl.Provider
	if n := len(parts) - 1; n < pr.min || n > pr.max {
		if pr.max == 0 && n == 1 && parts[1] == "*" {
			return pl, nil
		}
		return nil, fail("%s has %d parts after its name, %s", pr.Name, n, pr.usage())
	}
	if err := pr.parse(pl, parts[1:]); err != nil {
		return nil, fail("%s", err)
	}
	return pl, nil
}

// usage describes the forms of a kind.
func (pr *Provider) usage() string {
	if len(pr.Forms) == 0 {
		return "but it takes none"
	}
	forms := make([]string, len(pr.Forms))
	for i, f := range pr.Forms {
		forms[i] = pr.Name + ":" + f
	}
	return "write " + strings.Join(forms, " or ")
}

// withParams replaces a positional parameter at the start of an attach point, which may have several of its parts.
func withParams(text string, param func(int) string) (string, error) {
	if !strings.HasPrefix(text, "$") {
		return text, nil
	}
	n := 1
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	num, err := strconv.ParseUint(text[1:n], 10, 31)
	if err != nil || num == 0 {
		return "", fmt.Errorf("%q is not a positional parameter", text[:n])
	}
	return param(int(num)) + text[n:], nil
}

// splitPlace splits at ":" and "@" outside of quotes and replaces positional parameters. An "@" is a part of its
// own.
func splitPlace(text string, param func(int) string) ([]string, error) {
	var parts []string
	var part strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\' && i+1 < len(text):
			i++
			part.WriteByte(text[i])
		case quoted:
			part.WriteByte(c)
		case c == ':' || c == '@':
			parts = append(parts, part.String())
			part.Reset()
			if c == '@' {
				parts = append(parts, "@")
			}
		case c == '$':
			n := i + 1
			for n < len(text) && isDigit(text[n]) {
				n++
			}
			num, err := strconv.ParseUint(text[i+1:n], 10, 31)
			if err != nil || num == 0 {
				return nil, fmt.Errorf("%q is not a positional parameter; to use it as a name, quote it", text[i:max(n, min(i+2, len(text)))])
			}
			part.WriteString(param(int(num)))
			i = n - 1
		default:
			part.WriteByte(c)
		}
	}
	return append(parts, part.String()), nil
}

func plain(*Place, []string) error { return nil }

func named(pl *Place, parts []string) error {
	pl.Name = parts[0]
	return missing(pl.Name, "name")
}

func missing(s, what string) error {
	if s == "" {
		return fmt.Errorf("the %s is missing", what)
	}
	return nil
}

func selfPlace(pl *Place, parts []string) error {
	if parts[0] != "signal" || parts[1] != "SIGUSR1" {
		return fmt.Errorf("self has only signal:SIGUSR1")
	}
	pl.Target, pl.Name = parts[0], parts[1]
	return nil
}

// function sets Name and Offset, or Address, from func, func+offset or a number.
func (pl *Place) function(text string, offsets bool) error {
	name, off, plus := strings.Cut(text, "+")
	if !plus {
		if v, err := ParseInt(text); err == nil {
			pl.Address, pl.HasAddr = v, true
			return nil
		}
		pl.Name = text
		return missing(text, "function")
	}
	if !offsets {
		return fmt.Errorf("%s cannot have an offset", pl.Provider.Name)
	}
	v, err := ParseInt(off)
	if err != nil {
		return fmt.Errorf("%q is not an offset: %w", off, err)
	}
	pl.Name, pl.Offset = name, v
	return missing(name, "function")
}
