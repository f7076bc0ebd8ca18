package dwarf

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// info is the module's DWARF: its units, the index over them, and split files.
type info struct {
	*object
	opt    Options
	finder elf.Finder
	alt    *elf.File

	d      *data // nil without DWARF
	golang *goLines
	from   string
	why    string
	idx    *unitIndex
	// idxRead: the index came from the cache.
	idxRead bool

	splits map[string]*splitFile
	warned map[string]bool
	warnMu sync.Mutex
}

// findDebug finds the file with the DWARF.
func (in *info) findDebug() {
	src := in.file
	if !src.HasDWARF() {
		dbg, tried := in.finder.Find(in.file)
		if dbg == nil {
			in.why = "no .debug_info section; separate debug files looked for: " + strings.Join(tried, ", ")
			return
		}
		in.dbg, src = dbg, dbg
		if dbg.HasSymtab() {
			in.syms = dbg
		}
	}
	in.from = src.Path
	in.d = dataOf(in, src)
	if name, _, ok := src.AltLink(); ok {
		alt, tried := in.finder.FindAlt(src)
		if alt == nil {
			in.warn(fmt.Sprintf("%s refers to the shared debug file %s, which was not found (%s): names and types from it are missing; install the debug package it belongs to",
				src.Path, name, strings.Join(tried, ", ")))
			return
		}
		in.alt = alt
		in.d.alt = dataOf(in, alt)
	}
}

func (in *info) warn(msg string) {
	in.warnMu.Lock()
	defer in.warnMu.Unlock()
	if in.opt.Warn != nil && !in.warned[msg] && len(in.warned) < 100 {
		in.warned[msg] = true
		in.opt.Warn(msg)
	}
}

// debugFile is the file that has the DWARF.
func (in *info) debugFile() *elf.File {
	if in.dbg != nil {
		return in.dbg
	}
	return in.file
}

// HasDebugInfo reports whether DWARF was found.
func (in *info) HasDebugInfo() bool { return in.d != nil }

// DebugInfoFrom is the file that holds the DWARF.
func (in *info) DebugInfoFrom() string { return in.from }

// WhyNoDebugInfo returns what was searched if there is no DWARF.
func (in *info) WhyNoDebugInfo() string { return in.why }

// unitFor finds the unit whose code holds pc, nil when none does.
func (in *info) unitFor(pc uint64) *unit {
	return in.names().unitAt(pc)
}

// blockAt is the innermost block at pc.
func (in *info) blockAt(pc uint64, gdb bool) *block {
	if u := in.unitFor(pc); u != nil {
		if f := u.functions().at(pc); f != nil {
			return f.tree().find(pc, gdb)
		}
	}
	return nil
}

// names is the index over all units: from the cache, or made now.
func (in *info) names() *unitIndex {
	if in.idx == nil {
		in.idx = &unitIndex{Tables: &index.Tables{}}
		if in.d != nil {
			key := in.indexKey()
			path, needed := in.cachePath(key), nSections
			if _, err := os.Lstat(path); err == nil {
				needed = secStr // others are decompressed when something is read of them
			}
			in.d.kept.unpack(needed)
			in.idx.units, in.idx.main = unitsOf(in.d)
			in.idx.Tables = in.loadIndex(path, key)
		}
	}
	return in.idx
}

// sourceAt is lineAt for what is shown: without DWARF, Go has lines of its own, and no more.
func (in *info) sourceAt(pc uint64) line.Place {
	if in.unitFor(pc) == nil {
		return in.golang.find(pc)
	}
	return in.lineAt(pc)
}

func (in *info) lineAt(pc uint64) line.Place {
	if u := in.unitFor(pc); u != nil {
		return u.findLine(pc)
	}
	return line.Place{PC: pc}
}
