package kernel

import (
	"errors"
	"strings"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// candidate is one site that a place means, with the ways to reach it, the
// preferred one first.
type candidate struct {
	place    string // the one site in the words of the user's place
	function string // for the schema
	file     string
	line     int
	variants []variant
	module   *dwarf.Module // of a place in a program
	vaddr    uint64
	note     string // what to know before it is armed
	// tracepoint is the name of a static tracepoint, for the functions that call it.
	tracepoint string
}

// variant is a way to reach a site: where a program is attached and what names
// mean there.
type variant struct {
	how     string
	target  bpf.Target
	context ebpf.Context
	scope   debuginfo.Scope
	kin     sema.KernelInput
	bias    uint64 // run-time address = vaddr of scope + bias; of the kernel only
	at      uint64 // run-time address of a kprobe's instruction, 0: not known
	atEntry bool
	lineOf  func(vaddr uint64) (string, int)
	// event describes the tracepoint's own record, which only this variant has.
	event *tracefs.Event
}

// resolvers find the sites of a kind of place. The error is a diagnostic or what
// the environment refused.
var resolvers = map[probe.Kind]func(*Engine, *probe.Place) ([]candidate, error){
	probe.Tracepoint:    (*Engine).tracepoints,
	probe.RawTracepoint: (*Engine).rawTracepoints,
	probe.Syscall:       (*Engine).syscalls,
	probe.Process:       (*Engine).processEvents,
	probe.Kprobe:        (*Engine).kprobes,
	probe.Kretprobe:     (*Engine).kretprobes,
	probe.Fentry:        (*Engine).fentries,
	probe.Fexit:         (*Engine).fexits,
	probe.Line:          (*Engine).lines,
	probe.Function:      (*Engine).uprobes,
	probe.Offset:        (*Engine).uprobes,
	probe.Entry:         (*Engine).uprobes,
	probe.FileOff:       (*Engine).uprobes,
	probe.Uretprobe:     (*Engine).uretprobes,
	probe.USDT:          (*Engine).usdts,
	probe.Profile:       (*Engine).timers,
	probe.Interval:      (*Engine).timers,
	probe.Software:      (*Engine).counters,
	probe.Hardware:      (*Engine).counters,
}

func (e *Engine) resolve(p *probe.Place) ([]candidate, error) {
	f := resolvers[p.Kind]
	if f == nil {
		return nil, probe.Error(p, errors.New("the kernel engine has no such place"))
	}
	list, err := f(e, p)
	if err != nil {
		return nil, probe.Error(p, err)
	}
	if len(list) == 0 {
		return nil, probe.Error(p, errors.New("the pattern matches nothing"))
	}
	return list, nil
}

// maxSites bounds what a pattern may mean.
const maxSites = 10000

func tooMany(p *probe.Place) error {
	return lang.At("place", p.Text, lang.Span{Lo: 0, Hi: len(p.Text)}, "the pattern means more than 10000 sites", "write a narrower one")
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}
