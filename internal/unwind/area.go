package unwind

import "encoding/binary"

// The area is what code in a traced process walks stacks by. It begins with a header, which the process may only
// read: words of 8 bytes, which are addresses in the process but for AreaCount.
//
//	AreaCache      the cache in use
//	AreaCount      how many modules follow
//	AreaModules    the modules, ModuleSize bytes each: see Module
//
// The cache has a word for each of 2^CacheBits lowest bits of an address: the rest of the address, from bit
// TagShift on, and below it the address's Rule. Every thread stores to it what it finds, with one store, and
// what is loaded is used only if the address is right, so no thread sees a rule of another address. Addresses
// have at most AddressBits; others have no rule.
//
// The tracer changes the area while threads walk:
//
//  1. A module is added behind the last one, and then counted. A walk finds it or not.
//  2. When a module is unloaded, its range is made empty, then the other of two caches, which is cleared
//     before, is put in use. A walk that began before this may still store rules of the module, in the cache that
//     is not used any more. The thread that unloads is stopped meanwhile, so nothing else can be mapped there yet.
const (
	AreaCache   = 0
	AreaCount   = 8
	AreaModules = 64
	ModuleSize  = 64
	MaxModules  = 1023
	AreaSize    = AreaModules + MaxModules*ModuleSize

	CacheBits = 14
	CacheSize = 8 << CacheBits
	TagShift  = 31
	// AddressBits is how many bits addresses have.
	AddressBits = 64 - TagShift + CacheBits
)

// Offsets in a Module.
const (
	ModuleLo     = 0 // what the module's code is mapped at
	ModuleHi     = 8
	ModuleBase   = 16 // where the first row starts
	ModuleFirst  = 24 // the table's arrays of u32
	ModuleStarts = 32
	ModuleRules  = 40

	// RowsAtOnce is how many starts may be read at once: as many rows without an address are behind the last one.
	RowsAtOnce = 8

	// BucketShift is that of the table's index.
	BucketShift = bucketShift
	// KindMask and FieldMask are the kind and the distance in a Rule, SavedShift brings the other distance to its place.
	KindMask   = kindMask
	FieldMask  = fieldMask
	SavedShift = savedBit - distanceBit
)

// Where a signal frame has the interrupted registers, from the stack pointer.
var (
	SignalSP = signalSP
	SignalPC = signalPC
	SignalFP = signalFP
)

// Module is the code of a module in a process.
type Module struct {
	Lo, Hi uint64 // run-time addresses
	Bias   uint64
	Table  *Table
}

// Encode returns the module's bytes in the header, with its table at an address.
func (m *Module) Encode(table uint64) []byte {
	t := m.Table
	starts := table + 4*uint64(len(t.first))
	b := make([]byte, ModuleSize)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
	put(ModuleLo, max(m.Lo, m.Bias+t.base))
	put(ModuleHi, min(m.Hi, m.Bias+t.end))
	put(ModuleBase, m.Bias+t.base)
	put(ModuleFirst, table)
	put(ModuleStarts, starts)
	put(ModuleRules, starts+4*uint64(len(t.starts)+RowsAtOnce))
	return b
}

// Bytes returns the table as the process has it.
func (t *Table) Bytes() []byte {
	b := make([]byte, 0, t.Size())
	for _, list := range [][]uint32{t.first, t.starts} {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	for range RowsAtOnce {
		b = binary.LittleEndian.AppendUint32(b, ^uint32(0))
	}
	for _, r := range t.rules {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return b
}
