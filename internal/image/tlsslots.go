package image

// The dynamic linker counts changes of the list of modules. Each element of its list of modules
// (dtv_slotinfo) has the count of its last change. The vector of a thread has, as its element 0, the count
// of its last update: an entry of the vector that is older than the module belongs to another module, which
// was unloaded. Threads compare the counts whenever they use thread-local data.

// slotInfo is where that list is, and how its parts are laid out: blocks of slots,
// each with its length and the address of the next.
type slotInfo struct {
	head             uint64 // the address that leads to the first block
	counter          uint64 // in an element of the DTV
	len, next, slots uint64 // in a block
	slotSize, gen    uint64
}

// maxSlotBlocks bounds the list; a block is for 64 modules or more.
const maxSlotBlocks = 1024

// readSlotInfo reads what libc (table) describes of the linker's data. The linker is
// the library in list that has _rtld_global.
func readSlotInfo(read Memory, list []LinkMap, libc *symbols) (*slotInfo, error) {
	var s slotInfo
	var inGlobal uint64
	for _, f := range []struct {
		name   string
		offset *uint64
	}{
		{"rtld_global__dl_tls_dtv_slotinfo_list", &inGlobal},
		{"dtv_t_counter", &s.counter},
		{"dtv_slotinfo_list_len", &s.len},
		{"dtv_slotinfo_list_next", &s.next},
		{"dtv_slotinfo_list_slotinfo", &s.slots},
		{"dtv_slotinfo_gen", &s.gen},
	} {
		_, offset, err := describedField(read, libc, f.name)
		if err != nil {
			return nil, err
		}
		*f.offset = offset
	}
	addr, err := libc.lookup("_thread_db_sizeof_dtv_slotinfo")
	if err != nil {
		return nil, err
	}
	size, err := read.word32(addr)
	if err != nil {
		return nil, err
	}
	s.slotSize = uint64(size)
	for _, lib := range list {
		table, err := readSymbols(read, lib.Base, lib.Dynamic)
		if err != nil {
			continue
		}
		if global, err := table.lookup("_rtld_global"); err == nil {
			s.head = global + inGlobal
			return &s, nil
		}
	}
	return nil, errNoSymbol
}

// current reports whether a vector has the present module of that number.
func (s *slotInfo) current(read Memory, dtv, modid uint64) (bool, error) {
	known, err := read.word(dtv + s.counter)
	if err != nil {
		return false, err
	}
	block, err := read.word(s.head)
	index := modid
	for range maxSlotBlocks {
		if err != nil || block == 0 {
			return false, err
		}
		n, err := read.word(block + s.len)
		if err != nil {
			return false, err
		}
		if index < n {
			changed, err := read.word(block + s.slots + index*s.slotSize + s.gen)
			return changed <= known, err
		}
		index -= n
		if block, err = read.word(block + s.next); err != nil {
			return false, err
		}
	}
	return false, nil
}
