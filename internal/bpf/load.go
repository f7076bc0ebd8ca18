package bpf

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// Program is a program to load.
type Program struct {
	Name  string // shown by bpftool; cut to 15 characters
	Insns asm.Instructions
	Kind  Kind
	// Target is the target to which Fentry, Fexit, TracedTracepoint and Iter programs are bound by their types.
	// Other kinds use a target only when they are attached.
	Target Target
	// Buffers are the buffers to which the instructions refer by name.
	Buffers []*Buffer
	// Stacks are the tables of stacks to which they refer by name.
	Stacks []*Stacks
	// Dispatch is the one whose hits the program passes on.
	Dispatch *Dispatch
	// Sleepable programs may call helpers that wait for a page to be read from disk (bpf_copy_from_user):
	// uprobes, fentry and fexit only.
	Sleepable bool
}

// Loaded is a program in the kernel. It can be attached to any number of places of its kind, and detached
// and attached again, without another verification.
type Loaded struct {
	k    *Kernel
	kind Kind
	name string // the target, for kinds that are bound to one
	spec ebpf.ProgramSpec

	mu sync.Mutex
	// forms are the program loaded for single and for multiple attachment, which the kernel must know at load.
	// Most programs need only one form.
	forms [2]*ebpf.Program
}

const (
	formOne = iota
	formMulti
)

// Load loads a program after the kernel has verified it. The error of a refusal is one line; VerifierLog
// returns the whole log of the verifier.
func (k *Kernel) Load(p Program) (*Loaded, error) {
	insns, err := bind(p.Insns, &p)
	if err != nil {
		return nil, err
	}
	info := p.Kind.info()
	l := &Loaded{k: k, kind: p.Kind, spec: ebpf.ProgramSpec{
		Name: objectName(p.Name), Type: info.prog, AttachType: info.attach,
		Instructions: insns, License: "GPL",
	}}
	if p.Sleepable {
		l.spec.Flags = unix.BPF_F_SLEEPABLE
	}
	if p.Kind.bound() {
		l.name = p.Target.bound()
		l.spec.AttachTo = l.name
	}
	if _, err := l.form(l.firstForm()); err != nil {
		return nil, err
	}
	return l, nil
}

// bound reports whether programs of the kind are bound to one place when they are loaded.
func (kd Kind) bound() bool {
	return kd == TracedTracepoint || kd == Fentry || kd == Fexit || kd == Iter
}

// bound returns the name by which such a program is typed. The library looks it up in the kernel and then
// in its modules, so Module is not needed.
func (t *Target) bound() string {
	if t.Kind == TracedTracepoint || t.Kind == Iter {
		return t.Name
	}
	return t.Symbol
}

// bind replaces the names of buffers and tables of stacks by these, in a copy.
func bind(insns asm.Instructions, p *Program) (asm.Instructions, error) {
	out := make(asm.Instructions, len(insns))
	copy(out, insns)
	for i := range out {
		ins := &out[i]
		// Notes for listings would become line information, which the kernel requires to be complete and to
		// begin at the first instruction.
		*ins = ins.WithSource(nil)
		if !ins.IsLoadFromMap() || ins.Reference() == "" {
			continue
		}
		m := p.named(ins.Reference())
		if m == nil {
			panic("BUG: a program refers to the buffer " + ins.Reference() + ", which it was not given")
		}
		// The copy must not share the memory that AssociateMap writes.
		symbol, typed := ins.Symbol(), btf.FuncMetadata(ins)
		ins.Metadata = asm.Metadata{}
		if err := ins.AssociateMap(m); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
		if typed != nil {
			*ins = btf.WithFuncMetadata(ins.WithSymbol(symbol), typed)
		}
	}
	return out, nil
}

func (p *Program) named(name string) *ebpf.Map {
	if p.Dispatch != nil && name == dispatchName {
		return p.Dispatch.programs
	}
	for _, b := range p.Buffers {
		if b.name == name {
			return b.m
		}
	}
	for _, s := range p.Stacks {
		if s.name == name {
			return s.m
		}
	}
	return nil
}

// firstForm returns the form that Attach will most likely need.
func (l *Loaded) firstForm() int {
	if (l.kind == Uprobe || l.kind == Uretprobe) && l.k.features.UprobeMulti.OK {
		return formMulti
	}
	return formOne
}

// form returns one form of the program; the first call loads it.
func (l *Loaded) form(which int) (*ebpf.Program, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forms[which] != nil {
		return l.forms[which], nil
	}
	spec := l.spec
	if which == formMulti {
		spec.AttachType = l.kind.info().multi
	}
	if l.kind == Iter {
		if prog, err := loadIter(&spec); err == nil { // otherwise the library says why not
			l.forms[which] = prog
			return prog, nil
		}
	}
	prog, err := ebpf.NewProgram(&spec)
	if err != nil {
		target := &Target{Kind: l.kind, Name: l.name, Symbol: l.name}
		op := "load the program " + spec.Name
		if l.name != "" {
			op = "load the program for " + target.String()
		}
		if l.name != "" && (errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, btf.ErrNotFound)) && !errors.Is(err, unix.EPERM) {
			err = fail.Explain(err.Error(), errNoType)
		}
		return nil, l.k.explain(err, &attempt{op: op, kind: l.kind, target: target, load: true})
	}
	l.forms[which] = prog
	return prog, nil
}

// Kind returns the kind of place of the program.
func (l *Loaded) Kind() Kind { return l.kind }

// Close closes the program. It stays in the kernel until its links are closed.
func (l *Loaded) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first error
	for i, p := range l.forms {
		if p == nil {
			continue
		}
		if err := p.Close(); err != nil && first == nil {
			first = wrap("closing the program "+l.spec.Name, err)
		}
		l.forms[i] = nil
	}
	return first
}
