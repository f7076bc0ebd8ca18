package patch

var (
	vexSpaces  = map[byte]opSpace{1: spaceVex1, 2: spaceVex2, 3: spaceVex3}
	evexSpaces = map[byte]opSpace{1: spaceEvex1, 2: spaceEvex2, 3: spaceEvex3, 5: spaceEvex5, 6: spaceEvex6}
	xopSpaces  = map[byte]opSpace{8: spaceXop8, 9: spaceXop9, 10: spaceXop10}
)

// readVex reads the fields of a VEX (C4, C5), XOP (8F) or EVEX (62) prefix,
// and the opcode. The bits R, X, B and vvvv are stored inverted.
//
//	C5  RvvvvLpp
//	C4  RXBmmmmm WvvvvLpp
//	8F  RXBmmmmm WvvvvLpp
//	62  RXBR0mmm Wvvvv1pp zLLbVaaa
func (d *decoder) readVex(c byte) (opSpace, string) {
	p := &d.pfx
	if p.opsize || p.rep != 0 || p.lock || p.rex {
		return 0, "a prefix that is not allowed before VEX"
	}
	n := map[byte]int{0xc5: 1, 0xc4: 2, 0x8f: 2, 0x62: 3}[c]
	if d.pos+n >= len(d.code) {
		return 0, whyTruncated
	}
	v := d.code[d.pos : d.pos+n]
	d.pos += n
	p.vex = true
	p.r = ^v[0] & 0x80 >> 4
	mode, spaces, m := v[n-1], vexSpaces, byte(1)
	if n >= 2 {
		p.x, p.b = ^v[0]&0x40>>3, ^v[0]&0x20>>2
		mode, m = v[1], v[0]&0x1f
		p.w = mode&0x80 != 0
	}
	switch c {
	case 0x8f:
		spaces = xopSpaces
	case 0x62:
		spaces, m, p.evex = evexSpaces, v[0]&7, true
		p.r2 = v[0]&0x10 == 0
		if v[0]&8 != 0 || v[1]&4 == 0 {
			return 0, "an EVEX prefix with reserved bits (APX)"
		}
	}
	space, ok := spaces[m]
	if !ok {
		return 0, "an unknown opcode map"
	}
	p.vvvv = ^mode >> 3 & 15
	d.pp = 1 << (mode & 3)
	op, _ := d.next()
	d.in.space, d.in.opcode, d.in.opOff = space, op, uint8(d.pos-1)
	return space, ""
}
