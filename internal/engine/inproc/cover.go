package inproc

import (
	"bytes"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process"
)

// If code must not be writable (PR_SET_MDWE), the pages of patches are covered: an anonymous copy, readable
// and executable, replaces them in the address space, and the file's pages are kept elsewhere in the
// process. Uprobes are inserted only in mappings of files. With the world stopped:
//
//  1. Anonymous memory is mapped somewhere, and the bytes of the pages are written to it. Nothing refers
//     to it.
//  2. The pages are moved elsewhere with MREMAP_DONTUNMAP: their mapping also stays in place, and shows
//     the file. No thread runs.
//  3. The copy is moved over them. If that fails, the pages are moved back.
//
// At the end, when the program's own bytes have been restored:
//
//  4. The pages are moved back over the copy: the program has its original mapping.
//
// If jalon is killed between 2 and 3, the file's code is in place. If it is killed after 3, the patches are
// in the copy, where no uprobe can be inserted.
//
// A page with a breakpoint is not covered: the kernel could not find its int3 in the copy to remove it.

// covered is a run of pages that a copy covers.
type covered struct {
	guarded
	mapping process.Mapping // the mapping of the pages
	kept    uint64          // the address where the pages are kept
}

var errInPage = errors.New("a breakpoint is in the page")

// cover covers a run of pages of a module by a copy.
func (g *pageGuard) cover(st *process.Stopped, r guarded, m *module, mapped []process.Mapping) error {
	code, err := g.coverable(st, r, m)
	if err != nil {
		return err
	}
	size := r.hi - r.lo
	i := slices.IndexFunc(mapped, func(x process.Mapping) bool { return x.Start <= r.lo && r.hi <= x.End })
	if i < 0 {
		return errors.New("its mapping does not exist any more")
	}
	c := covered{guarded: r, mapping: mapped[i]}
	c.mapping.Offset += r.lo - c.mapping.Start
	c.mapping.Start, c.mapping.End = r.lo, r.hi
	mem, err := st.Syscall(unix.SYS_MMAP, st.Place(size), size, uint64(r.prot), unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return err
	}
	if err := st.WriteMem(mem, code); err != nil {
		return errors.Join(err, st.Free(mem, size))
	}
	c.kept, err = st.Syscall(unix.SYS_MREMAP, r.lo, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_DONTUNMAP, st.Place(size))
	if err != nil {
		return errors.Join(err, st.Free(mem, size))
	}
	g.mu.Lock()
	g.covers = append(g.covers, c)
	g.mu.Unlock()
	_, err = st.Syscall(unix.SYS_MREMAP, mem, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, r.lo)
	if err != nil {
		_, back := st.Syscall(unix.SYS_MREMAP, c.kept, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, r.lo)
		g.mu.Lock()
		g.covers = g.covers[:len(g.covers)-1]
		g.mu.Unlock()
		return errors.Join(err, back)
	}
	return nil
}

// coverable reads the pages, or returns why they must not be covered.
func (g *pageGuard) coverable(st *process.Stopped, r guarded, m *module) ([]byte, error) {
	if g.opt.Breakpoints != nil {
		return nil, errInPage // the caller inserts and removes its breakpoints at any time
	}
	code, raw := make([]byte, r.hi-r.lo), make([]byte, r.hi-r.lo)
	if err := st.ReadMem(r.lo, code); err != nil {
		return nil, err
	}
	mem, err := openMem(st.Pid())
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	if _, err := mem.ReadAt(raw, int64(r.lo)); err != nil {
		return nil, err
	}
	if !bytes.Equal(code, raw) {
		return nil, errInPage // the tracer's own breakpoint, which is hidden in code
	}
	// The page may begin or end outside the file's text, where there is no code.
	for at := r.lo; at < r.hi; at += pageSize {
		file, err := m.dw.Text(at-m.bias, pageSize)
		if err != nil {
			return nil, err
		}
		page := code[at-r.lo:][:len(file)]
		for i := range page {
			if page[i] != file[i] && breakpointAt(file[i:], page[i:], at+uint64(i), g.others.calls) > 0 {
				return nil, errInPage
			}
		}
	}
	return code, nil
}

// uncover moves the pages back, in the process or in a forked child. If the program has mapped something
// else there since, the kept pages are freed.
func (g *pageGuard) uncover(st callable) error {
	g.mu.Lock()
	list := g.covers
	g.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	mapped, err := st.Maps()
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range list {
		size := c.hi - c.lo
		if !isCopy(mapped, c) {
			errs = append(errs, st.Free(c.kept, size))
			continue
		}
		_, err := st.Syscall(unix.SYS_MREMAP, c.kept, size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, c.lo)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isCopy reports whether the copy still covers the pages.
func isCopy(mapped []process.Mapping, c covered) bool {
	return slices.ContainsFunc(mapped, func(m process.Mapping) bool {
		return m.Inode == 0 && m.Start <= c.lo && c.hi <= m.End && m.Prot == c.prot
	})
}

// withCovered returns the memory map as it was without copies: the pages belong to the file.
func (g *pageGuard) withCovered(mapped []process.Mapping) []process.Mapping {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.covers) == 0 {
		return mapped
	}
	mapped = slices.DeleteFunc(slices.Clone(mapped), func(m process.Mapping) bool {
		return slices.ContainsFunc(g.covers, func(c covered) bool { return m.Start == c.kept })
	})
	for _, c := range g.covers {
		if !isCopy(mapped, c) {
			continue
		}
		i := slices.IndexFunc(mapped, func(m process.Mapping) bool { return m.Start > c.lo || m.End >= c.hi })
		mapped = slices.Insert(mapped, max(i, 0), c.mapping)
	}
	return mapped
}
