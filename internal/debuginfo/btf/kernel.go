// Package btf says what names mean in the kernel: types, functions, tracepoints
// and per-CPU variables, from the BPF Type Format (BTF) that the kernel carries
// with it, and where a BPF program finds the arguments at each kind of site.
//
// Type tags (user, rcu, percpu) are no part of a type here; PointerTag tells them.
//
// Import rule: btf imports ctype, debuginfo and debuginfo/kallsyms only.
package btf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	ebtf "github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
)

// Kernel is the BTF of a kernel and its modules. Modules are read when a name
// is not in the kernel's own. It may be used by several goroutines.
type Kernel struct {
	// Symbols gives the kernel's symbol table. It is asked when an address is
	// needed (per-CPU variables, functions as values) or a function's module.
	// Open sets it to one that reads /proc/kallsyms once; it may be replaced
	// before the first use. Nil: nothing has an address.
	Symbols func() (*kallsyms.Table, error)

	base    *unit
	modules []*unit // sorted by name

	// mu guards what follows. Members of types are loaded on first use, by
	// whoever asks, and take it too.
	mu     sync.Mutex
	types  map[ebtf.Type]*ctype.Type
	depth  int
	tags   map[*ctype.Type]string
	misses map[missKey][]string
}

// unit is one BTF: the kernel's or a module's.
type unit struct {
	name string // "" for the kernel's
	base *unit  // nil for the kernel's

	spec  func() (*ebtf.Spec, error)
	index func() (*index, error)
}

// ErrNoBTF says that the kernel does not describe its types.
var ErrNoBTF = errors.New("this kernel carries no type information (BTF); " +
	"it must be built with CONFIG_DEBUG_INFO_BTF=y, as the kernels of the large distributions are since 2020")

const sysDir = "/sys/kernel/btf"

// Open opens the running kernel's BTF. Without it the error wraps ErrNoBTF.
func Open() (*Kernel, error) {
	file := filepath.Join(sysDir, "vmlinux")
	if _, err := os.Stat(file); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open %s: %w (and /sys must be mounted)", file, ErrNoBTF)
		}
		return nil, fmt.Errorf("open the kernel's type information: %w", err)
	}
	// The cache maps the kernel's BTF instead of reading it.
	cache := ebtf.NewCache()
	names, err := cache.Modules()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", sysDir, err)
	}
	base := newUnit("", nil, cache.Kernel, func() ([]byte, error) { return os.ReadFile(file) })
	if _, err := base.spec(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	k := newKernel(base)
	k.Symbols = sync.OnceValues(kallsyms.Open)
	for _, n := range names {
		k.modules = append(k.modules, newUnit(n, base,
			func() (*ebtf.Spec, error) { return cache.Module(n) },
			func() ([]byte, error) { return os.ReadFile(filepath.Join(sysDir, n)) }))
	}
	return k, nil
}

// Parse makes a Kernel of raw BTF: the kernel's own, and that of modules by
// their names. It has no Symbols.
func Parse(vmlinux []byte, modules map[string][]byte) (*Kernel, error) {
	base := newUnit("", nil,
		func() (*ebtf.Spec, error) { return ebtf.LoadSpecFromReader(bytes.NewReader(vmlinux)) },
		func() ([]byte, error) { return vmlinux, nil })
	if _, err := base.spec(); err != nil {
		return nil, fmt.Errorf("read BTF: %w", err)
	}
	k := newKernel(base)
	for n, raw := range modules {
		k.modules = append(k.modules, newUnit(n, base,
			func() (*ebtf.Spec, error) {
				spec, err := base.spec()
				if err != nil {
					return nil, err
				}
				return ebtf.LoadSplitSpecFromReader(bytes.NewReader(raw), spec)
			},
			func() ([]byte, error) { return raw, nil }))
	}
	slices.SortFunc(k.modules, func(a, b *unit) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return k, nil
}

func newKernel(base *unit) *Kernel {
	return &Kernel{
		base:   base,
		types:  map[ebtf.Type]*ctype.Type{},
		tags:   map[*ctype.Type]string{},
		misses: map[missKey][]string{},
	}
}

func newUnit(name string, base *unit, spec func() (*ebtf.Spec, error), raw func() ([]byte, error)) *unit {
	u := &unit{name: name, base: base}
	u.spec = sync.OnceValues(func() (s *ebtf.Spec, err error) {
		defer guard(&err)
		return spec()
	})
	u.index = sync.OnceValues(func() (*index, error) {
		b, err := raw()
		if err != nil {
			return nil, err
		}
		var below *index
		if base != nil {
			if below, err = base.index(); err != nil {
				return nil, err
			}
		}
		return parseIndex(b, below)
	})
	return u
}

// Spec is the kernel's own BTF, for loading programs.
func (k *Kernel) Spec() *ebtf.Spec {
	s, _ := k.base.spec() // it was loaded when k was made
	return s
}

// symbols is the symbol table, nil when there is none.
func (k *Kernel) symbols() *kallsyms.Table {
	if k == nil || k.Symbols == nil {
		return nil
	}
	t, err := k.Symbols()
	if err != nil {
		return nil
	}
	return t
}

// PointerTag returns what the kernel says of the memory that a pointer type
// points to: "user", "percpu", "rcu", or "". Kernels compiled by GCC before
// version 16 do not say it.
func (k *Kernel) PointerTag(t *ctype.Type) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tags[t.Strip()]
}

// module finds a module's unit; nil when it has no BTF.
func (k *Kernel) module(name string) *unit {
	i, ok := slices.BinarySearchFunc(k.modules, name, func(u *unit, n string) int {
		return bytes.Compare([]byte(u.name), []byte(n))
	})
	if !ok {
		return nil
	}
	return k.modules[i]
}

// guard turns a panic of the BTF library, which malformed BTF may cause, into an error.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("malformed BTF: %v", r)
	}
}
