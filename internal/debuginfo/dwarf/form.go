package dwarf

// Attribute forms, DWARF 5 section 7.5.6 and GNU extensions.
const (
	formAddr        = 0x01
	formBlock2      = 0x03
	formBlock4      = 0x04
	formData2       = 0x05
	formData4       = 0x06
	formData8       = 0x07
	formString      = 0x08
	formBlock       = 0x09
	formBlock1      = 0x0a
	formData1       = 0x0b
	formFlag        = 0x0c
	formSdata       = 0x0d
	formStrp        = 0x0e
	formUdata       = 0x0f
	formRefAddr     = 0x10
	formRef1        = 0x11
	formRef2        = 0x12
	formRef4        = 0x13
	formRef8        = 0x14
	formRefUdata    = 0x15
	formIndirect    = 0x16
	formSecOffset   = 0x17
	formExprloc     = 0x18
	formFlagPresent = 0x19
	formStrx        = 0x1a
	formAddrx       = 0x1b
	formRefSup4     = 0x1c
	formStrpSup     = 0x1d
	formData16      = 0x1e
	formLineStrp    = 0x1f
	formRefSig8     = 0x20
	formImplicit    = 0x21
	formLoclistx    = 0x22
	formRnglistx    = 0x23
	formRefSup8     = 0x24
	formStrx1       = 0x25
	formStrx2       = 0x26
	formStrx3       = 0x27
	formStrx4       = 0x28
	formAddrx1      = 0x29
	formAddrx2      = 0x2a
	formAddrx3      = 0x2b
	formAddrx4      = 0x2c
	formGNUAddrx    = 0x1f01
	formGNUStrx     = 0x1f02
	formGNURefAlt   = 0x1f20
	formGNUStrpAlt  = 0x1f21
)

// enc is how a form's bytes are laid out.
type enc uint8

const (
	encBad      enc = iota
	encNone         // no bytes
	enc1            // that many bytes
	enc2            //
	enc3            //
	enc4            //
	enc8            //
	enc16           //
	encAddr         // address_size bytes
	encOffset       // 4 bytes, 8 in 64-bit DWARF
	encRefAddr      // encOffset; encAddr in version 2
	encULEB         //
	encSLEB         //
	encCstr         // NUL-terminated
	encBlock1       // length, then bytes
	encBlock2       //
	encBlock4       //
	encBlock        // uleb length, then bytes
	encIndirect     // uleb form, then that
)

var formEnc = [...]enc{
	formAddr: encAddr, formBlock2: encBlock2, formBlock4: encBlock4, formData2: enc2, formData4: enc4,
	formData8: enc8, formString: encCstr, formBlock: encBlock, formBlock1: encBlock1, formData1: enc1,
	formFlag: enc1, formSdata: encSLEB, formStrp: encOffset, formUdata: encULEB, formRefAddr: encRefAddr,
	formRef1: enc1, formRef2: enc2, formRef4: enc4, formRef8: enc8, formRefUdata: encULEB,
	formIndirect: encIndirect, formSecOffset: encOffset, formExprloc: encBlock, formFlagPresent: encNone,
	formStrx: encULEB, formAddrx: encULEB, formRefSup4: enc4, formStrpSup: encOffset, formData16: enc16,
	formLineStrp: encOffset, formRefSig8: enc8, formImplicit: encNone, formLoclistx: encULEB,
	formRnglistx: encULEB, formRefSup8: enc8, formStrx1: enc1, formStrx2: enc2, formStrx3: enc3,
	formStrx4: enc4, formAddrx1: enc1, formAddrx2: enc2, formAddrx3: enc3, formAddrx4: enc4,
}

func encOf(form uint16) enc {
	if int(form) < len(formEnc) {
		return formEnc[form]
	}
	switch form {
	case formGNUAddrx, formGNUStrx:
		return encULEB
	case formGNURefAlt, formGNUStrpAlt:
		return encOffset
	}
	return encBad
}

// val is an attribute's value as it stands in the file.
type val struct {
	u    *unit
	form uint16
	n    uint64 // integer forms, addresses, offsets, indexes; sdata as its bits
	b    []byte // block and string forms
}

// format is what the size of a form depends on.
type format struct {
	version  uint16
	addrSize uint8
	is64     bool
}

// fixedSize is the number of bytes of an encoding, -1 when the data tells.
func (f format) fixedSize(e enc) int {
	off := 4
	if f.is64 {
		off = 8
	}
	switch e {
	case encNone:
		return 0
	case enc1:
		return 1
	case enc2:
		return 2
	case enc3:
		return 3
	case enc4:
		return 4
	case enc8:
		return 8
	case enc16:
		return 16
	case encAddr:
		return int(f.addrSize)
	case encOffset:
		return off
	case encRefAddr:
		if f.version <= 2 {
			return int(f.addrSize)
		}
		return off
	}
	return -1
}

// skipForm moves c past a value.
func (f format) skipForm(c *cursor, form uint16) {
	e := encOf(form)
	if n := f.fixedSize(e); n >= 0 {
		c.skip(uint64(n))
		return
	}
	switch e {
	case encULEB, encSLEB:
		c.uleb()
	case encCstr:
		c.cstr()
	case encBlock1:
		c.skip(uint64(c.u8()))
	case encBlock2:
		c.skip(uint64(c.u16()))
	case encBlock4:
		c.skip(uint64(c.u32()))
	case encBlock:
		c.skip(c.uleb())
	case encIndirect:
		if g := c.uleb(); g != formIndirect && g < 0x10000 {
			f.skipForm(c, uint16(g))
		} else {
			c.fail()
		}
	default:
		c.fail()
	}
}

// readForm reads a value.
func (f format) readForm(c *cursor, form uint16, implicit int64) val {
	v := val{form: form}
	switch e := encOf(form); e {
	case encNone:
		v.n = 1
		if form == formImplicit {
			v.n = uint64(implicit)
		}
	case enc1, enc2, enc4, enc8, encAddr, encOffset, encRefAddr:
		v.n = c.uint(f.fixedSize(e))
	case enc3:
		v.n = uint64(c.u24())
	case enc16:
		v.b = c.bytes(16)
	case encULEB:
		v.n = c.uleb()
	case encSLEB:
		v.n = uint64(c.sleb())
	case encCstr:
		v.b = c.cstr()
	case encBlock1:
		v.b = c.block(uint64(c.u8()))
	case encBlock2:
		v.b = c.block(uint64(c.u16()))
	case encBlock4:
		v.b = c.block(uint64(c.u32()))
	case encBlock:
		v.b = c.block(c.uleb())
	case encIndirect:
		if g := c.uleb(); g != formIndirect && g != formImplicit && g < 0x10000 {
			return f.readForm(c, uint16(g), 0)
		}
		c.fail()
	default:
		c.fail()
	}
	return v
}

// isBlock tells whether the value is bytes: an expression or a constant.
func (v val) isBlock() bool {
	switch v.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc, formData16:
		return true
	}
	return false
}

// isConst tells whether the value is an integer constant.
func (v val) isConst() bool {
	switch v.form {
	case formData1, formData2, formData4, formData8, formSdata, formUdata, formImplicit:
		return true
	}
	return false
}

// isRef tells whether the value refers to another entry.
func (v val) isRef() bool {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata, formRefAddr, formRefSig8,
		formRefSup4, formRefSup8, formGNURefAlt:
		return true
	}
	return false
}

// isSecOffset tells whether the value is an offset of (or index to) a list in
// another section. data4 and data8 are that in DWARF 2 and 3.
func (v val) isSecOffset() bool {
	switch v.form {
	case formSecOffset, formLoclistx, formRnglistx:
		return true
	case formData4, formData8:
		return v.u == nil || v.u.f.version < 4
	}
	return false
}

// isString tells whether the value is a string.
func (v val) isString() bool {
	switch v.form {
	case formString, formStrp, formLineStrp, formStrpSup, formGNUStrpAlt,
		formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrx:
		return true
	}
	return false
}

// int is a constant as a signed number. Compilers write negative numbers as
// sdata; the fixed-size forms are unsigned.
func (v val) int() int64 { return int64(v.n) }
