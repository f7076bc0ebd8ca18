package process

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

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

// threadLocal finds the data at offset of a module's block in a thread of process
// pid. linkMap 0 is the program.
func threadLocal(pid int, read memoryReader, fsBase, offset, linkMap uint64) (uint64, error) {
	auxv, err := procdir.Auxv(pid)
	if err != nil {
		return 0, err
	}
	return findThreadLocal(read, auxv, fsBase, offset, linkMap)
}

func findThreadLocal(read memoryReader, auxv []byte, fsBase, offset, at uint64) (uint64, error) {
	if fsBase == 0 {
		return 0, errors.New("the thread has no thread-local data yet")
	}
	var lists [][]linkMap
	if debug, err := findDebug(read, auxv); err == nil {
		for _, ns := range readNamespaces(read, debug) {
			lists = append(lists, readLinkMaps(read, ns.first, 0))
		}
	}
	if at == 0 || len(lists) > 0 && len(lists[0]) > 0 && lists[0][0].addr == at {
		distance, err := programBlock(read, auxv)
		return fsBase - distance + offset, err
	}
	module := findModule(lists, at)
	if module == nil {
		return 0, fmt.Errorf("no library has its link map at %#x", at)
	}
	block, err := libraryBlock(read, lists[0], module, fsBase)
	return block + offset, err
}

func findModule(lists [][]linkMap, at uint64) *linkMap {
	for _, list := range lists {
		for i := range list {
			if list[i].addr == at {
				return &list[i]
			}
		}
	}
	return nil
}

// programBlock is how far below the thread pointer the program's block begins: its
// size, and what makes it aligned as its segment is.
func programBlock(read memoryReader, auxv []byte) (uint64, error) {
	p, err := readProgram(read, auxv)
	if err != nil {
		return 0, err
	}
	h := p.header(elf.PT_TLS)
	if h == nil {
		return 0, errors.New("the program has no thread-local data")
	}
	mask := max(h.Align, 1) - 1
	return h.Memsz + (-h.Vaddr-h.Memsz)&mask, nil
}

// libraryBlock finds the block of a library, by what glibc tells libthread_db, or
// else by the library's own relocations.
func libraryBlock(read memoryReader, list []linkMap, m *linkMap, fsBase uint64) (uint64, error) {
	for _, lib := range list {
		d, err := readThreadDB(read, list, lib)
		if err != nil {
			continue
		}
		return d.block(read, m, fsBase)
	}
	return relocatedBlock(read, m, vectorOf(read, list), fsBase)
}

// threadDB is what libc's symbols _thread_db_* say of its structures: each is of
// three words of 32 bits, the size of a field in bits, the number of its elements
// and its offset in bytes (nptl_db/db_info.c). They are there for libthread_db.
type threadDB struct {
	modid, tlsOffset uint64 // in struct link_map
	dtvp             uint64 // in struct pthread, which the thread pointer leads to
	dtvSize          uint64 // of an element of the DTV, bytes
	pointer          uint64 // in it
	slots            *slotInfo
}

func readThreadDB(read memoryReader, list []linkMap, lib linkMap) (*threadDB, error) {
	table, err := readSymbols(read, lib.base, lib.dynamic)
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
func describedField(read memoryReader, libc *symbols, name string) (bits, offset uint64, err error) {
	addr, err := libc.lookup("_thread_db_" + name)
	if err != nil {
		return 0, 0, err
	}
	var b [12]byte
	err = read(addr, b[:])
	return uint64(binary.LittleEndian.Uint32(b[:])), uint64(binary.LittleEndian.Uint32(b[8:])), err
}

// errNotAllocated says that the thread has not used the library's data.
var errNotAllocated = errors.New("this thread has not yet used the library's thread-local data; there is none until it does")

// block is the address of a library's block.
func (d *threadDB) block(read memoryReader, m *linkMap, fsBase uint64) (uint64, error) {
	// A block at a fixed distance has it in l_tls_offset; 0 and -1 say that it is
	// elsewhere.
	distance, err := read.word(m.addr + d.tlsOffset)
	if err != nil {
		return 0, err
	}
	if distance != 0 && distance != 1<<64-1 {
		return fsBase - distance, nil
	}
	modid, err := read.word(m.addr + d.modid)
	if err != nil {
		return 0, err
	}
	if modid == 0 {
		return 0, fmt.Errorf("%s has no thread-local data", m.name)
	}
	return d.vectorEntry(read, fsBase, modid)
}

// vectorEntry looks a module up in the thread's vector, whose element -1 has its
// length.
func (d *threadDB) vectorEntry(read memoryReader, fsBase, modid uint64) (uint64, error) {
	dtv, err := read.word(fsBase + d.dtvp)
	if err != nil {
		return 0, err
	}
	length, err := read.word(dtv - d.dtvSize)
	if err != nil {
		return 0, err
	}
	if modid > length {
		return 0, errNotAllocated
	}
	if ok, err := d.slots.current(read, dtv, modid); err != nil || !ok {
		return 0, cmp.Or(err, errNotAllocated)
	}
	block, err := read.word(dtv + modid*d.dtvSize + d.pointer)
	if err != nil {
		return 0, err
	}
	if block == 0 || block == 1<<64-1 {
		return 0, errNotAllocated
	}
	return block, nil
}
