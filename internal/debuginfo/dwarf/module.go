package dwarf

import (
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// Options configure the search for debug information.
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
	// Fetch, if not nil, gets debug files from elsewhere (elf.Finder).
	Fetch func(buildID string) (path string)
	// Warn takes remarks about damaged or incomplete information; may be nil.
	Warn func(string)
}

// Module is one executable or shared library. Its methods may be called from several
// goroutines; they run one at a time. Each part has its own state, and names the parts
// that it reads:
//
//	border      runs exported methods one at a time, and catches damage
//	object      the files: headers, bytes, symbols
//	info        the DWARF: units, the index over them, split files
//	callFrames  call frame information, landing pads
//	sequences   restartable sequences
//	types       entries converted to C types
//	prologues   where functions begin for a user, by GDB's rules
//	functions   names of functions, by address and by name
//	places      sites of functions, lines and patterns
//	extents     what bounds the code around an address
//	calls       the calls of functions, and what they pass
//	scopes      what names mean at an address
type Module struct {
	*border
	*object
	*info
	*callFrames
	*sequences
	*types
	*prologues
	*functions
	*places
	*extents
	calls *callValues
	*scopes
}

// assemble makes a module of its files, without DWARF yet.
func assemble(path string, f *elf.File, opt Options) *Module {
	m := &Module{border: &border{path: path}}
	m.object = &object{border: m.border, file: f, syms: f}
	m.info = &info{
		object: m.object, opt: opt, splits: map[string]*splitFile{}, warned: map[string]bool{},
		finder: opt.Finder(), golang: &goLines{object: m.object},
	}
	m.callFrames = &callFrames{object: m.object}
	m.sequences = &sequences{object: m.object}
	m.types = &types{info: m.info}
	m.prologues = &prologues{info: m.info}
	m.functions = &functions{object: m.object, info: m.info, callFrames: m.callFrames}
	m.places = &places{object: m.object, info: m.info, prologues: m.prologues, functions: m.functions}
	m.extents = &extents{object: m.object, info: m.info, callFrames: m.callFrames}
	m.calls = &callValues{calls: &calls{object: m.object, info: m.info}}
	m.scopes = &scopes{object: m.object, info: m.info, callFrames: m.callFrames, types: m.types, places: m.places, callValues: m.calls}
	return m
}

// Finder finds separate debug files in the directories of the options.
func (o *Options) Finder() elf.Finder {
	dirs := o.DebugDirs
	if dirs == nil {
		dirs = []string{"/usr/lib/debug"}
	}
	return elf.Finder{DebugDirs: dirs, Root: o.Root, Fetch: o.Fetch}
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
	m = assemble(path, f, opt)
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

// Close unmaps the files. Types and scopes obtained before stay usable as far
// as they have been loaded.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if m.d != nil {
		m.d.close()
	}
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
