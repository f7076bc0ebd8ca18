package dwarf

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Options say where debug information is looked for.
type Options struct {
	// DebugDirs are the directories of separate debug files; nil means
	// /usr/lib/debug.
	DebugDirs []string
	// Root is put before absolute paths, e.g. /proc/PID/root for a process in
	// another mount namespace.
	Root string
	// CacheDir is where the indexes of large files are kept between runs; "" means
	// $XDG_CACHE_HOME/jalon, or ~/.cache/jalon. NoCache keeps none.
	CacheDir string
	NoCache  bool
	// For tests: another size from which on indexes are kept, another limit.
	cacheFrom  int
	cacheLimit int64
	// Warn takes remarks about damaged or incomplete information; may be nil.
	Warn func(string)
}

// Module is one executable or shared library. Its methods may be called from
// several goroutines; they run one at a time.
type Module struct {
	path   string
	file   *elf.File // the module itself: code, call frames
	dbg    *elf.File // separate debug file, nil when there is none
	alt    *elf.File
	syms   *elf.File // the file whose symbol table is used
	opt    Options
	finder elf.Finder

	mu     sync.Mutex
	faults atomic.Int64
	closed bool

	d    *data // nil without DWARF
	from string
	why  string
	idx  *unitIndex
	// idxRead says that the index came from the cache.
	idxRead bool
	cfi     *frame.Table
	rules   recent[*frame.Rule] // of Unwind
	walk    *unwind.Table       // see UnwindTable
	walkHas bool
	named   recent[codeName] // of Symbolize
	types   typeCache
	pads    *[]uint64 // see AllLandingPads
	padsErr error
	rseq    *rseqTable // see RseqRanges

	isGoOnce sync.Once
	isGo     bool

	inCodeOnce sync.Once
	inCode     []elf.Symbol // objects in sections with code

	plain  map[string]string // cache of demangled names
	splits map[string]*splitFile
	warned map[string]bool
	warnMu sync.Mutex
}

// Open maps the module at path and finds its debug information.
func Open(path string, opt Options) (*Module, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	return newModule(path, f, opt)
}

// newModule makes a module of an open ELF file.
func newModule(path string, f *elf.File, opt Options) (m *Module, err error) {
	if opt.DebugDirs == nil {
		opt.DebugDirs = []string{"/usr/lib/debug"}
	}
	m = &Module{
		path: path, file: f, syms: f, opt: opt, splits: map[string]*splitFile{}, warned: map[string]bool{},
		finder: elf.Finder{DebugDirs: opt.DebugDirs, Root: opt.Root},
	}
	defer func() {
		if err != nil {
			m.Close()
			m = nil
		}
	}()
	defer m.guard(&err)()
	m.findDebug()
	return m, nil
}

// findDebug decides where the DWARF comes from.
func (m *Module) findDebug() {
	src := m.file
	if !src.HasDWARF() {
		dbg, tried := m.finder.Find(m.file)
		if dbg == nil {
			m.why = "no .debug_info section; separate debug files looked for: " + strings.Join(tried, ", ")
			return
		}
		m.dbg, src = dbg, dbg
		if dbg.HasSymtab() {
			m.syms = dbg
		}
	}
	m.from = src.Path
	src.Unpack(sectionNames[:])
	m.d = newData(m, src.Path, func(s section) ([]byte, error) { return src.Bytes(sectionNames[s]) })
	if name, _, ok := src.AltLink(); ok {
		alt, tried := m.finder.FindAlt(src)
		if alt == nil {
			m.warn(fmt.Sprintf("%s refers to the shared debug file %s, which was not found (%s): names and types from it are missing; install the debug package it belongs to",
				src.Path, name, strings.Join(tried, ", ")))
			return
		}
		m.alt = alt
		m.d.alt = newData(m, alt.Path, func(s section) ([]byte, error) { return alt.Bytes(sectionNames[s]) })
	}
}

// Close unmaps the files. Types and scopes obtained before stay usable as far
// as they have been loaded.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	err := m.file.Close()
	for _, f := range []*elf.File{m.dbg, m.alt} {
		if f != nil {
			f.Close()
		}
	}
	for _, s := range m.splits {
		if s.file != nil {
			s.file.Close()
		}
	}
	return err
}

func (m *Module) warn(msg string) {
	m.warnMu.Lock()
	defer m.warnMu.Unlock()
	if m.opt.Warn != nil && !m.warned[msg] && len(m.warned) < 100 {
		m.warned[msg] = true
		m.opt.Warn(msg)
	}
}

// ModuleType distinguishes fixed-address from position-independent modules.
type ModuleType uint8

// The module types.
const (
	Exec ModuleType = iota // fixed addresses: the load bias is 0
	Dyn                    // position-independent executable or shared library
)

// Path is the path the module was opened by.
func (m *Module) Path() string { return m.path }

// Name is the last component of the path.
func (m *Module) Name() string { return filepath.Base(m.path) }

// BuildID is the build-id note in hexadecimal, "" when there is none.
func (m *Module) BuildID() string { return m.file.BuildID }

// Type reports whether the module has a load bias.
func (m *Module) Type() ModuleType {
	if m.file.PIE {
		return Dyn
	}
	return Exec
}

// Machine is always this machine's processor: other files do not open.
func (m *Module) Machine() string { return host.Processor.Title }

// Interp is the program interpreter, "" for static programs and libraries.
func (m *Module) Interp() string { return m.file.Interp() }

// Segments are the loadable segments by ascending vaddr; with /proc/PID/maps
// they give the load bias.
func (m *Module) Segments() []elf.Segment { return m.file.Segments() }

// Sections are the section headers.
func (m *Module) Sections() []elf.Section { return m.file.Sections() }

// SectionAt names the section in memory that holds vaddr, "" for none.
func (m *Module) SectionAt(vaddr uint64) string { return m.file.SectionAt(vaddr) }

// IsCode reports whether vaddr lies in executable content.
func (m *Module) IsCode(vaddr uint64) bool { return m.file.IsCode(vaddr) }

// TLS describes the module's thread-local segment.
func (m *Module) TLS() (t elf.TLS, ok bool) { return m.file.TLS() }

// HasDebugInfo reports whether DWARF was found.
func (m *Module) HasDebugInfo() bool { return m.d != nil }

// DebugInfoFrom is the file that holds the DWARF.
func (m *Module) DebugInfoFrom() string { return m.from }

// WhyNoDebugInfo says what was looked for when there is no DWARF.
func (m *Module) WhyNoDebugInfo() string { return m.why }

// Text returns n bytes of the file at vaddr, relocations unapplied; fewer at the
// end of a segment. The slice is a copy.
func (m *Module) Text(vaddr uint64, n int) (b []byte, err error) {
	defer m.guard(&err)()
	got := m.file.ReadVaddr(vaddr, n)
	if len(got) == 0 {
		return nil, fmt.Errorf("%s has no bytes at address %#x", m.path, vaddr)
	}
	return append([]byte(nil), got...), nil
}

// Relocated reports whether the dynamic linker changes the byte at vaddr: in text only
// where it was linked with relocations there (-z notext).
func (m *Module) Relocated(vaddr uint64) bool {
	list, err := m.file.Relocated(vaddr, vaddr+1)
	return err == nil && len(list) > 0
}

// unitFor finds the unit whose code holds pc, nil when none does.
func (m *Module) unitFor(pc uint64) *unit {
	return m.names().unitAt(pc)
}

// blockAt is the innermost block at pc.
func (m *Module) blockAt(pc uint64, gdb bool) *block {
	if u := m.unitFor(pc); u != nil {
		if f := u.functions().at(pc); f != nil {
			return f.tree().find(pc, gdb)
		}
	}
	return nil
}

// symbolAt finds the code symbol at pc.
func (m *Module) symbolAt(pc uint64) (elf.Symbol, uint64, bool) {
	if s, end, ok := m.syms.FuncAt(pc); ok {
		return s, end, true
	}
	if m.syms != m.file {
		return m.file.FuncAt(pc)
	}
	return elf.Symbol{}, 0, false
}

// lookupSymbols finds symbols by raw name in the module and its debug file.
func (m *Module) lookupSymbols(name string) []elf.Symbol {
	out := m.syms.Lookup(name)
	if len(out) == 0 && m.syms != m.file {
		out = m.file.Lookup(name)
	}
	return out
}

// names is the index over all units: from the cache, or made now.
func (m *Module) names() *unitIndex {
	if m.idx == nil {
		m.idx = &unitIndex{Tables: &index.Tables{}}
		if m.d != nil {
			m.idx.units, m.idx.main = unitsOf(m.d)
			m.idx.Tables = m.loadIndex()
		}
	}
	return m.idx
}

// typeCache holds the converted types; depth is that of the conversion running.
type typeCache struct {
	members map[dieKey]classMembers // of classes, as far as names were looked up in them
	m       map[dieKey]*ctype.Type
	depth   int
}
