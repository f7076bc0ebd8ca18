package raw

// ListEntry is the kind of an entry of a range or location list of DWARF 5 (7.25, 7.7.3), or of the format
// of split units before it.
type ListEntry uint8

// The kinds. In a file they are numbers, which differ from section to section.
const (
	endOfList ListEntry = iota
	baseAddressx
	startxEndx
	startxLength
	offsetPair
	DefaultLocation // no addresses: holds where no other entry does
	baseAddress
	startEnd
	startLength
	viewPair      // GNU: two numbers of views
	startxLength4 // the length has 4 bytes
	offsetPair4   // each offset has 4 bytes
)

// The kinds of each section, by number.
var (
	RangeEntries    = []ListEntry{endOfList, baseAddressx, startxEndx, startxLength, offsetPair, baseAddress, startEnd, startLength}
	LocationEntries = []ListEntry{endOfList, baseAddressx, startxEndx, startxLength, offsetPair, DefaultLocation, baseAddress, startEnd, startLength, viewPair}
	SplitEntries    = []ListEntry{endOfList, baseAddressx, startxEndx, startxLength4, offsetPair4} // .debug_loc.dwo
)

// Addresses has what the entries of a unit's lists refer to.
type Addresses struct {
	Base    uint64                        // the unit's lowest address
	Size    int                           // bytes of an address
	Indexed func(i uint64) (uint64, bool) // an entry of .debug_addr
}

// List reads a list up to its end. take reads the data after an entry's addresses and reports whether to
// continue; known is false if an address is not there. A list ends where an entry's kind is not known, or
// the base of the entries that follow is not there.
func (c *Cursor) List(kinds []ListEntry, a Addresses, take func(kind ListEntry, lo, hi uint64, known bool) bool) {
	base := a.Base
	for !c.Bad {
		var lo, hi uint64
		known, end := true, true
		n := c.U8()
		if int(n) >= len(kinds) {
			return
		}
		switch kinds[n] {
		case endOfList:
			return
		case baseAddressx:
			if base, known = a.Indexed(c.ULEB()); !known {
				return
			}
			continue
		case baseAddress:
			base = c.Uint(a.Size)
			continue
		case viewPair:
			c.ULEB()
			c.ULEB()
			continue
		case DefaultLocation:
		case startxEndx:
			lo, known = a.Indexed(c.ULEB())
			hi, end = a.Indexed(c.ULEB())
		case startxLength:
			lo, known = a.Indexed(c.ULEB())
			hi = lo + c.ULEB()
		case startxLength4:
			lo, known = a.Indexed(c.ULEB())
			hi = lo + uint64(c.U32())
		case offsetPair:
			lo, hi = base+c.ULEB(), base+c.ULEB()
		case offsetPair4:
			lo, hi = base+uint64(c.U32()), base+uint64(c.U32())
		case startEnd:
			lo, hi = c.Uint(a.Size), c.Uint(a.Size)
		case startLength:
			lo = c.Uint(a.Size)
			hi = lo + c.ULEB()
		}
		if !take(kinds[n], lo, hi, known && end) {
			return
		}
	}
}
