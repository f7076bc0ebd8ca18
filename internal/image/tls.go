package image

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jalon-trace/jalon/internal/arch/host"
	debugelf "github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Thread-local data (Drepper, ELF Handling For Thread-Local Storage, variant II):
//
//	... | library | program | struct pthread
//	                        ^ thread pointer, fs_base
//
// The blocks of the program and of the libraries that it begins with are at the
// same distance below the thread pointer in all threads. The others are allocated
// when a thread first uses them; its vector (DTV) leads to them.

// ThreadLocal finds the data at offset of a module's block in a thread of process
// pid, whose thread pointer is fsBase. linkMap 0 is the program.
func ThreadLocal(pid int, read Memory, fsBase, offset, linkMap uint64) (uint64, error) {
	auxv, err := procdir.Auxv(pid)
	if err != nil {
		return 0, err
	}
	return findThreadLocal(read, auxv, fsBase, offset, linkMap)
}

func findThreadLocal(read Memory, auxv []byte, fsBase, offset, at uint64) (uint64, error) {
	if fsBase == 0 {
		return 0, errors.New("the thread has no thread-local data yet")
	}
	spaces, _ := LinkMaps(read, auxv) // none: there is the program's data only
	if at == 0 || len(spaces) > 0 && len(spaces[0].List) > 0 && spaces[0].List[0].Addr == at {
		at, err := programBlock(read, auxv)
		return fsBase + uint64(at) + offset, err
	}
	if err := ofLibraries(); err != nil {
		return 0, err
	}
	module := findModule(spaces, at)
	if module == nil {
		return 0, fmt.Errorf("no library has its link map at %#x", at)
	}
	block, err := libraryBlock(read, spaces[0].List, module, fsBase)
	return block + offset, err
}

// ofLibraries returns why the thread-local data of libraries cannot be found. The reader uses libc's data
// about them below the thread pointer.
func ofLibraries() error {
	if host.Processor.TLSAbove {
		return fmt.Errorf("thread-local data of libraries are not found on %s: only those of the program", host.Processor.Title)
	}
	return nil
}

func findModule(spaces []Namespace, at uint64) *LinkMap {
	for _, ns := range spaces {
		for i := range ns.List {
			if ns.List[i].Addr == at {
				return &ns.List[i]
			}
		}
	}
	return nil
}

// programBlock is the distance of the program's block from the thread pointer.
func programBlock(read Memory, auxv []byte) (int64, error) {
	p, err := readProgram(read, auxv)
	if err != nil {
		return 0, err
	}
	h := p.header(elf.PT_TLS)
	if h == nil {
		return 0, errors.New("the program has no thread-local data")
	}
	return debugelf.TLS{Vaddr: h.Vaddr, Memsz: h.Memsz, Align: h.Align}.Offset(host.Processor), nil
}

// libraryBlock finds the block of a library, by the data of glibc for libthread_db, or
// else by the library's own relocations.
func libraryBlock(read Memory, list []LinkMap, m *LinkMap, fsBase uint64) (uint64, error) {
	for _, lib := range list {
		d, err := readThreadDB(read, list, lib)
		if err != nil {
			continue
		}
		return d.block(read, m, fsBase)
	}
	return relocatedBlock(read, m, vectorOf(read, list), fsBase)
}

// Memory reads the memory of the image's process. The caller closes the result.
func (im *Image) Memory() (Memory, io.Closer, error) {
	f, err := procdir.Mem(im.pid, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	return func(addr uint64, b []byte) error {
		_, err := f.ReadAt(b, int64(addr))
		return err
	}, f, nil
}

// TLSOffset returns the offset of a module's thread-local block from the thread pointer if it is the same
// in all threads: the ABI guarantees it for the program's block, and the dynamic linker for libraries
// loaded at the start of the program. The module must be open.
func (m *Module) TLSOffset() (int64, error) {
	segment, ok := m.info.TLS()
	if !ok {
		return 0, errors.New("the module has no thread-local storage")
	}
	if m.Exe {
		return segment.Offset(host.Processor), nil
	}
	if err := ofLibraries(); err != nil {
		return 0, err
	}
	read, mem, err := m.image.Memory()
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	auxv, err := procdir.Auxv(m.image.pid)
	if err != nil {
		return 0, err
	}
	spaces, err := LinkMaps(read, auxv)
	if err != nil {
		return 0, err
	}
	distance, err := fixedBlock(read, spaces, m)
	if err == nil && distance == 0 {
		err = fmt.Errorf("the thread-local block of %s is not at the same offset in all threads", m.Path)
	}
	return -int64(distance), err
}

// fixedBlock returns how far below the thread pointer a module's block is in all threads;
// 0 if it is not at a fixed distance, or the distance is not known.
func fixedBlock(read Memory, spaces []Namespace, m *Module) (uint64, error) {
	for _, ns := range spaces {
		for i := range ns.List {
			l := &ns.List[i]
			if l.Base != m.bias || !m.Contains(l.Dynamic) {
				continue
			}
			for _, lib := range spaces[0].List {
				if d, err := readThreadDB(read, spaces[0].List, lib); err == nil {
					return d.fixed(read, l)
				}
			}
			return fixedByRelocation(read, l)
		}
	}
	return 0, fmt.Errorf("the dynamic linker has no module %s", m.Path)
}

// threadDB has the descriptions of libc's structures in its symbols _thread_db_*: each has three words of
// 32 bits, the size of a field in bits, the number of its elements and its offset in bytes
// (nptl_db/db_info.c). They exist for libthread_db.
type threadDB struct {
	modid, tlsOffset uint64 // in struct link_map
	dtvp             uint64 // in struct pthread, which the thread pointer leads to
	dtvSize          uint64 // of an element of the DTV, bytes
	pointer          uint64 // in it
	slots            *slotInfo
}

func readThreadDB(read Memory, list []LinkMap, lib LinkMap) (*threadDB, error) {
	table, err := readSymbols(read, lib.Base, lib.Dynamic)
	if err != nil {
		return nil, err
	}
	var d threadDB
	var bits uint64
	for _, f := range []struct {
		name         string
		bits, offset *uint64
	}{
		{"link_map_l_tls_modid", nil, &d.modid},
		{"link_map_l_tls_offset", nil, &d.tlsOffset},
		{"pthread_dtvp", nil, &d.dtvp},
		{"dtv_dtv", &bits, nil},
		{"dtv_t_pointer_val", nil, &d.pointer},
	} {
		size, offset, err := describedField(read, table, f.name)
		if err != nil {
			return nil, err
		}
		if f.bits != nil {
			*f.bits = size
		}
		if f.offset != nil {
			*f.offset = offset
		}
	}
	d.dtvSize = bits / 8
	if d.dtvSize < 8 || d.dtvSize > 64 {
		return nil, fmt.Errorf("an entry of the thread vector of %d bytes", d.dtvSize)
	}
	d.slots, err = readSlotInfo(read, list, table)
	return &d, err
}

// describedField reads the description of a field: its size in bits, and its offset.
func describedField(read Memory, libc *symbols, name string) (bits, offset uint64, err error) {
	addr, err := libc.lookup("_thread_db_" + name)
	if err != nil {
		return 0, 0, err
	}
	var b [12]byte
	err = read(addr, b[:])
	return uint64(binary.LittleEndian.Uint32(b[:])), uint64(binary.LittleEndian.Uint32(b[8:])), err
}

// ErrNotAllocated: the thread has not used the library's data.
var ErrNotAllocated = errors.New("this thread has not yet used the library's thread-local data; there is none until it does")

// fixed is how far below the thread pointer a library's block is in all threads; 0: it
// is not at a fixed distance.
func (d *threadDB) fixed(read Memory, m *LinkMap) (uint64, error) {
	// In l_tls_offset 0 and -1 mean that the block is elsewhere.
	distance, err := read.word(m.Addr + d.tlsOffset)
	if distance == 1<<64-1 {
		distance = 0
	}
	return distance, err
}

// block is the address of a library's block.
func (d *threadDB) block(read Memory, m *LinkMap, fsBase uint64) (uint64, error) {
	distance, err := d.fixed(read, m)
	if err != nil || distance != 0 {
		return fsBase - distance, err
	}
	modid, err := read.word(m.Addr + d.modid)
	if err != nil {
		return 0, err
	}
	if modid == 0 {
		return 0, fmt.Errorf("%s has no thread-local data", m.Name)
	}
	return d.vectorEntry(read, fsBase, modid)
}

// vectorEntry looks a module up in the thread's vector, whose element -1 has its
// length.
func (d *threadDB) vectorEntry(read Memory, fsBase, modid uint64) (uint64, error) {
	dtv, err := read.word(fsBase + d.dtvp)
	if err != nil {
		return 0, err
	}
	length, err := read.word(dtv - d.dtvSize)
	if err != nil {
		return 0, err
	}
	if modid > length {
		return 0, ErrNotAllocated
	}
	if ok, err := d.slots.current(read, dtv, modid); err != nil || !ok {
		return 0, cmp.Or(err, ErrNotAllocated)
	}
	block, err := read.word(dtv + modid*d.dtvSize + d.pointer)
	if err != nil {
		return 0, err
	}
	if block == 0 || block == 1<<64-1 {
		return 0, ErrNotAllocated
	}
	return block, nil
}
