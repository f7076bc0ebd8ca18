package raw

// Attribute forms, DWARF 5 section 7.5.6 and GNU extensions.
const (
	FormAddr        = 0x01
	FormBlock2      = 0x03
	FormBlock4      = 0x04
	FormData2       = 0x05
	FormData4       = 0x06
	FormData8       = 0x07
	FormString      = 0x08
	FormBlock       = 0x09
	FormBlock1      = 0x0a
	FormData1       = 0x0b
	FormFlag        = 0x0c
	FormSdata       = 0x0d
	FormStrp        = 0x0e
	FormUdata       = 0x0f
	FormRefAddr     = 0x10
	FormRef1        = 0x11
	FormRef2        = 0x12
	FormRef4        = 0x13
	FormRef8        = 0x14
	FormRefUdata    = 0x15
	FormIndirect    = 0x16
	FormSecOffset   = 0x17
	FormExprloc     = 0x18
	FormFlagPresent = 0x19
	FormStrx        = 0x1a
	FormAddrx       = 0x1b
	FormRefSup4     = 0x1c
	FormStrpSup     = 0x1d
	FormData16      = 0x1e
	FormLineStrp    = 0x1f
	FormRefSig8     = 0x20
	FormImplicit    = 0x21
	FormLoclistx    = 0x22
	FormRnglistx    = 0x23
	FormRefSup8     = 0x24
	FormStrx1       = 0x25
	FormStrx2       = 0x26
	FormStrx3       = 0x27
	FormStrx4       = 0x28
	FormAddrx1      = 0x29
	FormAddrx2      = 0x2a
	FormAddrx3      = 0x2b
	FormAddrx4      = 0x2c
	FormGNUAddrx    = 0x1f01
	FormGNUStrx     = 0x1f02
	FormGNURefAlt   = 0x1f20
	FormGNUStrpAlt  = 0x1f21
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
	FormAddr: encAddr, FormBlock2: encBlock2, FormBlock4: encBlock4, FormData2: enc2, FormData4: enc4,
	FormData8: enc8, FormString: encCstr, FormBlock: encBlock, FormBlock1: encBlock1, FormData1: enc1,
	FormFlag: enc1, FormSdata: encSLEB, FormStrp: encOffset, FormUdata: encULEB, FormRefAddr: encRefAddr,
	FormRef1: enc1, FormRef2: enc2, FormRef4: enc4, FormRef8: enc8, FormRefUdata: encULEB,
	FormIndirect: encIndirect, FormSecOffset: encOffset, FormExprloc: encBlock, FormFlagPresent: encNone,
	FormStrx: encULEB, FormAddrx: encULEB, FormRefSup4: enc4, FormStrpSup: encOffset, FormData16: enc16,
	FormLineStrp: encOffset, FormRefSig8: enc8, FormImplicit: encNone, FormLoclistx: encULEB,
	FormRnglistx: encULEB, FormRefSup8: enc8, FormStrx1: enc1, FormStrx2: enc2, FormStrx3: enc3,
	FormStrx4: enc4, FormAddrx1: enc1, FormAddrx2: enc2, FormAddrx3: enc3, FormAddrx4: enc4,
}

func encOf(form uint16) enc {
	if int(form) < len(formEnc) {
		return formEnc[form]
	}
	switch form {
	case FormGNUAddrx, FormGNUStrx:
		return encULEB
	case FormGNURefAlt, FormGNUStrpAlt:
		return encOffset
	}
	return encBad
}

// Value is an attribute's value as it is in the file.
type Value struct {
	Form uint16
	N    uint64 // integer forms, addresses, offsets, indexes; sdata as its bits
	B    []byte // block and string forms
}

// Format is what the size of a form depends on.
type Format struct {
	Version  uint16
	AddrSize uint8
	Is64     bool
}

// fixedSize is the number of bytes of an encoding, -1 when it depends on the data.
func (f Format) fixedSize(e enc) int {
	off := 4
	if f.Is64 {
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
		return int(f.AddrSize)
	case encOffset:
		return off
	case encRefAddr:
		if f.Version <= 2 {
			return int(f.AddrSize)
		}
		return off
	}
	return -1
}

// Size is the number of bytes of a form, -1 when it depends on the data.
func (f Format) Size(form uint16) int { return f.fixedSize(encOf(form)) }

// Skip moves c past a value.
func (f Format) Skip(c *Cursor, form uint16) {
	e := encOf(form)
	if n := f.fixedSize(e); n >= 0 {
		c.Skip(uint64(n))
		return
	}
	switch e {
	case encULEB, encSLEB:
		c.ULEB()
	case encCstr:
		c.CString()
	case encBlock1:
		c.Skip(uint64(c.U8()))
	case encBlock2:
		c.Skip(uint64(c.U16()))
	case encBlock4:
		c.Skip(uint64(c.U32()))
	case encBlock:
		c.Skip(c.ULEB())
	case encIndirect:
		if g := c.ULEB(); g != FormIndirect && g < 0x10000 {
			f.Skip(c, uint16(g))
		} else {
			c.Fail()
		}
	default:
		c.Fail()
	}
}

// Read reads a value.
func (f Format) Read(c *Cursor, form uint16, implicit int64) Value {
	v := Value{Form: form}
	switch e := encOf(form); e {
	case encNone:
		v.N = 1
		if form == FormImplicit {
			v.N = uint64(implicit)
		}
	case enc1, enc2, enc4, enc8, encAddr, encOffset, encRefAddr:
		v.N = c.Uint(f.fixedSize(e))
	case enc3:
		v.N = uint64(c.U24())
	case enc16:
		v.B = c.Bytes(16)
	case encULEB:
		v.N = c.ULEB()
	case encSLEB:
		v.N = uint64(c.SLEB())
	case encCstr:
		v.B = c.CString()
	case encBlock1:
		v.B = c.Block(uint64(c.U8()))
	case encBlock2:
		v.B = c.Block(uint64(c.U16()))
	case encBlock4:
		v.B = c.Block(uint64(c.U32()))
	case encBlock:
		v.B = c.Block(c.ULEB())
	case encIndirect:
		if g := c.ULEB(); g != FormIndirect && g != FormImplicit && g < 0x10000 {
			return f.Read(c, uint16(g), 0)
		}
		c.Fail()
	default:
		c.Fail()
	}
	return v
}

// IsBlock reports whether the value is bytes: an expression or a constant.
func (v Value) IsBlock() bool {
	switch v.Form {
	case FormBlock, FormBlock1, FormBlock2, FormBlock4, FormExprloc, FormData16:
		return true
	}
	return false
}

// IsConst reports whether the value is an integer constant.
func (v Value) IsConst() bool {
	switch v.Form {
	case FormData1, FormData2, FormData4, FormData8, FormSdata, FormUdata, FormImplicit:
		return true
	}
	return false
}

// IsRef reports whether the value refers to another entry.
func (v Value) IsRef() bool {
	switch v.Form {
	case FormRef1, FormRef2, FormRef4, FormRef8, FormRefUdata, FormRefAddr, FormRefSig8,
		FormRefSup4, FormRefSup8, FormGNURefAlt:
		return true
	}
	return false
}

// IsString reports whether the value is a string.
func (v Value) IsString() bool {
	switch v.Form {
	case FormString, FormStrp, FormLineStrp, FormStrpSup, FormGNUStrpAlt,
		FormStrx, FormStrx1, FormStrx2, FormStrx3, FormStrx4, FormGNUStrx:
		return true
	}
	return false
}

// Int is a constant as a signed number. Compilers write negative numbers as
// sdata; the fixed-size forms are unsigned.
func (v Value) Int() int64 { return int64(v.N) }
