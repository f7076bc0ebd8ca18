// Package btf resolves names in the kernel: types, functions, tracepoints and per-CPU variables, from the
// kernel's own BPF Type Format (BTF) data. It also returns the locations of arguments for a BPF program at each
// kind of site. Type tags (user, rcu, percpu) are not part of a type here; PointerTag returns them.
//
// Import rule: btf imports ctype, debuginfo, debuginfo/btf/raw and debuginfo/kallsyms only.
package btf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
)

// Kernel is the BTF of a kernel and its modules. Modules are read when a name
// is not in the kernel's own. It may be used by several goroutines.
type Kernel struct {
	// Symbols returns the kernel's symbol table. It is called when an address is needed (per-CPU variables,
	// functions as values) or a function's module. Open sets it to a function that reads /proc/kallsyms once;
	// it may be replaced before the first use. Nil means no addresses.
	Symbols func() (*kallsyms.Table, error)

	base    *unit
	modules []*unit // sorted by name

	*converter
}

// unit is one BTF: the kernel's or a module's.
type unit struct {
	name string // "" for the kernel's
	open func() (*raw.BTF, error)
}

// ErrNoBTF says that the kernel does not describe its types.
var ErrNoBTF = errors.New("this kernel carries no type information (BTF); " +
	"it must be built with CONFIG_DEBUG_INFO_BTF=y, as the kernels of the large distributions are since 2020")

// Open opens the running kernel's BTF. Without it the error wraps ErrNoBTF.
func Open() (*Kernel, error) {
	if _, err := os.Stat(raw.File); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open %s: %w (and /sys must be mounted)", raw.File, ErrNoBTF)
		}
		return nil, fmt.Errorf("open the kernel's type information: %w", err)
	}
	if _, err := raw.Kernel(); err != nil {
		return nil, fmt.Errorf("read %s: %w", raw.File, err)
	}
	dir := filepath.Dir(raw.File)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	k := newKernel(&unit{open: raw.Kernel})
	k.Symbols = sync.OnceValues(kallsyms.Open)
	for _, e := range entries { // sorted
		if name := e.Name(); name != filepath.Base(raw.File) {
			k.addModule(name, func() ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
		}
	}
	return k, nil
}

// Parse makes a Kernel of raw BTF: the kernel's own, and that of modules by
// their names. It has no Symbols.
func Parse(vmlinux []byte, modules map[string][]byte) (*Kernel, error) {
	base, err := raw.Parse(vmlinux, nil)
	if err != nil {
		return nil, fmt.Errorf("read BTF: %w", err)
	}
	k := newKernel(&unit{open: func() (*raw.BTF, error) { return base, nil }})
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		k.addModule(name, func() ([]byte, error) { return modules[name], nil })
	}
	return k, nil
}

func newKernel(base *unit) *Kernel {
	return &Kernel{base: base, converter: &converter{types: map[key]*ctype.Type{}, tags: map[*ctype.Type]string{}}}
}

// addModule adds a module, whose BTF is read on first use.
func (k *Kernel) addModule(name string, read func() ([]byte, error)) {
	k.modules = append(k.modules, &unit{name: name, open: sync.OnceValues(func() (*raw.BTF, error) {
		base, err := k.base.open()
		if err != nil {
			return nil, err
		}
		b, err := read()
		if err != nil {
			return nil, err
		}
		return raw.Parse(b, base)
	})})
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
