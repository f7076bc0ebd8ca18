package amd64

import x86 "github.com/jalon-trace/jalon/internal/arch/amd64"

// Reg is a register by its hardware number, 0-15; general or xmm by context.
type Reg = x86.Reg

// The general registers.
const (
	RAX = x86.RAX
	RCX = x86.RCX
	RDX = x86.RDX
	RBX = x86.RBX
	RSP = x86.RSP
	RBP = x86.RBP
	RSI = x86.RSI
	RDI = x86.RDI
	R8  = x86.R8
	R9  = x86.R9
	R10 = x86.R10
	R11 = x86.R11
	R12 = x86.R12
	R13 = x86.R13
	R14 = x86.R14
	R15 = x86.R15

	NoReg Reg = 0xff
)

// insnOp names a row of the instruction table.
type insnOp uint8

const (
	iADD insnOp = iota
	iOR
	iAND
	iSUB
	iXOR
	iCMP
	iTEST
	iMOV
	iLEA
	iXCHG
	iIMUL
	iIMULI
	iNOT
	iNEG
	iDIV
	iIDIV
	iINC
	iSHL
	iSHR
	iROR
	iSAR
	iSHLCL
	iSHRCL
	iSARCL
	iMOVZB
	iMOVZW
	iMOVSB
	iMOVSW
	iMOVSL
	iSET
	iCMOV
	iLAHF
	iSAHF
	iCDQ
	iCQO
	iRDTSC
	iPAUSE
	iRDPID
	iLSL
	iRDFSBASE
	iRDGSBASE
	iCMPXCHG
	iLOCKINC
	iLOCKADD
	iLOCKADDI
	iLOCKXADD
	iPUSHF
	iPOPF
	iPUSHM
	iPOPM
	iSTMXCSR
	iLDMXCSR
	iFXSAVE
	iXGETBV
	iPREFETCHW
	iPREFETCHT0
	iMOVES
	iMOVDS
	iMOVFS
	iMOVGS
	iBSF
	iBSR
	iMOVABS
	iMOVI32

	iMOVUPS
	iMOVAPS
	iMOVSD
	iMOVSS
	iADDSD
	iSUBSD
	iMULSD
	iDIVSD
	iADDSS
	iSUBSS
	iMULSS
	iDIVSS
	iUCOMISD
	iUCOMISS
	iCVTSI2SD
	iCVTSI2SS
	iCVTTSD2SI
	iCVTTSS2SI
	iCVTSD2SS
	iCVTSS2SD
	iMOVQ
	iXORPS
	iVEXTRACT
	numInsn
)

// Properties of a row.
const (
	fWide   = 1 << iota // W selects 66 prefix, REX.W; W 1 selects opcode-1 where fByte
	fByte               // has a byte form with opcode-1
	fXReg               // the reg field is an xmm register
	fXRM                // a register in the rm field is an xmm register
	fFlags              // writes arithmetic flags
	fNoDst              // writes no register (cmp, test)
	fRead               // rm is only read although the row has a digit (div, push)
	fB8                 // rm register is a byte register whatever W
	fSuffix             // memory form always carries the width suffix in text
	fW64                // always 64-bit without REX.W (push, pop)
	fMXCSR              // raises floating-point exceptions: needs our own mxcsr
)

// row describes how an instruction is encoded. rm is the opcode of "reg <- r/m",
// mr of "r/m <- reg", mi of "r/m <- imm" with digit dig (imm8 form = mi8 when not 0),
// m of "op r/m" with digit dig. Opcodes above 0xff carry their 0F escape.
type row struct {
	name       string
	pre        byte // 66, F2, F3 or F0 mandatory prefix
	rm, mr     uint16
	mi, mi8, m uint16
	dig        uint8
	flags      uint16
}

func alu(name string, k uint16, extra uint16) row {
	return row{name: name, rm: k*8 + 3, mr: k*8 + 1, mi: 0x81, mi8: 0x83, dig: uint8(k), flags: fWide | fByte | fFlags | extra}
}

func unary(name string, op uint16, dig uint8, extra uint16) row {
	return row{name: name, m: op, dig: dig, flags: fWide | fByte | extra}
}

func shift(name string, dig uint8, byCL bool) row {
	r := row{name: name, dig: dig, flags: fWide | fByte | fFlags}
	if byCL {
		r.m = 0xD3
	} else {
		r.mi8 = 0xC1
	}
	return r
}

func sse(name string, pre byte, op uint16, extra uint16) row {
	return row{name: name, pre: pre, rm: op, flags: fXReg | fXRM | extra}
}

var insns = [numInsn]row{
	iADD: alu("add", 0, 0), iOR: alu("or", 1, 0), iAND: alu("and", 4, 0),
	iSUB: alu("sub", 5, 0), iXOR: alu("xor", 6, 0), iCMP: alu("cmp", 7, fNoDst),
	iTEST:  {name: "test", mr: 0x85, mi: 0xF7, dig: 0, flags: fWide | fByte | fFlags | fNoDst},
	iMOV:   {name: "mov", rm: 0x8B, mr: 0x89, mi: 0xC7, dig: 0, flags: fWide | fByte},
	iLEA:   {name: "lea", rm: 0x8D, flags: fWide},
	iXCHG:  {name: "xchg", mr: 0x87, flags: fWide},
	iIMUL:  {name: "imul", rm: 0x0FAF, flags: fWide | fFlags},
	iIMULI: {name: "imul", rm: 0x69, mi8: 0x6B, flags: fWide | fFlags},
	iNOT:   unary("not", 0xF7, 2, 0), iNEG: unary("neg", 0xF7, 3, fFlags),
	iDIV: unary("div", 0xF7, 6, fFlags|fRead), iIDIV: unary("idiv", 0xF7, 7, fFlags|fRead),
	iINC: unary("inc", 0xFF, 0, fFlags),
	iSHL: shift("shl", 4, false), iSHR: shift("shr", 5, false), iROR: shift("ror", 1, false), iSAR: shift("sar", 7, false),
	iSHLCL: shift("shl", 4, true), iSHRCL: shift("shr", 5, true), iSARCL: shift("sar", 7, true),
	iMOVZB: {name: "movzb", rm: 0x0FB6, flags: fWide | fB8 | fSuffix}, iMOVZW: {name: "movzw", rm: 0x0FB7, flags: fWide | fSuffix},
	iMOVSB: {name: "movsb", rm: 0x0FBE, flags: fWide | fB8 | fSuffix}, iMOVSW: {name: "movsw", rm: 0x0FBF, flags: fWide | fSuffix},
	iMOVSL: {name: "movsl", rm: 0x63, flags: fWide | fSuffix},
	iSET:   {name: "set", m: 0x0F90, flags: fB8},
	iCMOV:  {name: "cmov", rm: 0x0F40, flags: fWide},
	iLAHF:  {name: "lahf", m: 0x9F}, iSAHF: {name: "sahf", m: 0x9E, flags: fFlags},
	iCDQ: {name: "cltd", m: 0x99}, iCQO: {name: "cqto", m: 0x99},
	iPAUSE: {name: "pause", m: 0xF390},
	iRDTSC: {name: "rdtsc", m: 0x0F31}, iRDPID: {name: "rdpid", pre: 0xF3, m: 0x0FC7, dig: 7, flags: fW64},
	iLSL:      {name: "lsl", rm: 0x0F03, flags: fWide | fFlags},
	iRDFSBASE: {name: "rdfsbase", pre: 0xF3, m: 0x0FAE, dig: 0, flags: fWide}, iRDGSBASE: {name: "rdgsbase", pre: 0xF3, m: 0x0FAE, dig: 1, flags: fWide},
	iCMPXCHG: {name: "lock cmpxchg", pre: 0xF0, mr: 0x0FB1, flags: fWide | fFlags}, iLOCKINC: {name: "lock inc", pre: 0xF0, m: 0xFF, dig: 0, flags: fWide | fFlags | fSuffix},
	iLOCKADD:  {name: "lock add", pre: 0xF0, mr: 0x01, flags: fWide | fFlags},
	iLOCKADDI: {name: "lock add", pre: 0xF0, mi: 0x81, mi8: 0x83, dig: 0, flags: fWide | fFlags | fSuffix},
	iLOCKXADD: {name: "lock xadd", pre: 0xF0, mr: 0x0FC1, flags: fWide | fFlags},
	iPUSHF:    {name: "pushf", m: 0x9C}, iPOPF: {name: "popf", m: 0x9D, flags: fFlags},
	iPUSHM: {name: "push", m: 0xFF, dig: 6, flags: fW64 | fRead | fSuffix}, iPOPM: {name: "pop", m: 0x8F, dig: 0, flags: fW64 | fSuffix},
	iSTMXCSR: {name: "stmxcsr", m: 0x0FAE, dig: 3}, iLDMXCSR: {name: "ldmxcsr", m: 0x0FAE, dig: 2, flags: fRead},
	iFXSAVE:    {name: "fxsave64", m: 0x0FAE, dig: 0, flags: fWide},
	iXGETBV:    {name: "xgetbv", m: 0x0F01}, // and 0xd0
	iPREFETCHW: {name: "prefetchw", m: 0x0F0D, dig: 1, flags: fRead}, iPREFETCHT0: {name: "prefetcht0", m: 0x0F18, dig: 1, flags: fRead},
	iMOVES: {name: "mov %es,", m: 0x8C, dig: 0}, iMOVDS: {name: "mov %ds,", m: 0x8C, dig: 3},
	iMOVFS: {name: "mov %fs,", m: 0x8C, dig: 4}, iMOVGS: {name: "mov %gs,", m: 0x8C, dig: 5},
	iBSF:    {name: "bsf", rm: 0x0FBC, flags: fWide | fFlags},
	iBSR:    {name: "bsr", rm: 0x0FBD, flags: fWide | fFlags},
	iMOVABS: {name: "movabs"}, iMOVI32: {name: "mov"},

	iMOVUPS: {name: "movups", rm: 0x0F10, mr: 0x0F11, flags: fXReg | fXRM}, iMOVAPS: sse("movaps", 0, 0x0F28, 0),
	iMOVSD: {name: "movsd", pre: 0xF2, rm: 0x0F10, mr: 0x0F11, flags: fXReg | fXRM}, iMOVSS: {name: "movss", pre: 0xF3, rm: 0x0F10, mr: 0x0F11, flags: fXReg | fXRM},
	iADDSD: sse("addsd", 0xF2, 0x0F58, fMXCSR), iSUBSD: sse("subsd", 0xF2, 0x0F5C, fMXCSR), iMULSD: sse("mulsd", 0xF2, 0x0F59, fMXCSR), iDIVSD: sse("divsd", 0xF2, 0x0F5E, fMXCSR),
	iADDSS: sse("addss", 0xF3, 0x0F58, fMXCSR), iSUBSS: sse("subss", 0xF3, 0x0F5C, fMXCSR), iMULSS: sse("mulss", 0xF3, 0x0F59, fMXCSR), iDIVSS: sse("divss", 0xF3, 0x0F5E, fMXCSR),
	iUCOMISD: sse("ucomisd", 0x66, 0x0F2E, fMXCSR|fFlags|fNoDst), iUCOMISS: sse("ucomiss", 0, 0x0F2E, fMXCSR|fFlags|fNoDst),
	iCVTSI2SD: {name: "cvtsi2sd", pre: 0xF2, rm: 0x0F2A, flags: fXReg | fWide | fMXCSR}, iCVTSI2SS: {name: "cvtsi2ss", pre: 0xF3, rm: 0x0F2A, flags: fXReg | fWide | fMXCSR},
	iCVTTSD2SI: {name: "cvttsd2si", pre: 0xF2, rm: 0x0F2C, flags: fXRM | fWide | fMXCSR}, iCVTTSS2SI: {name: "cvttss2si", pre: 0xF3, rm: 0x0F2C, flags: fXRM | fWide | fMXCSR},
	iCVTSD2SS: sse("cvtsd2ss", 0xF2, 0x0F5A, fMXCSR), iCVTSS2SD: sse("cvtss2sd", 0xF3, 0x0F5A, fMXCSR),
	iMOVQ:  {name: "mov", pre: 0x66, rm: 0x0F6E, mr: 0x0F7E, flags: fXReg | fWide},
	iXORPS: sse("xorps", 0, 0x0F57, 0),
	// Encoded by vextract alone.
	iVEXTRACT: {name: "vextractf128"},
}

// cc is a condition code as in the low 4 bits of jcc, setcc, cmovcc.
type cc uint8

const (
	ccB  cc = 2
	ccAE cc = 3
	ccE  cc = 4
	ccNE cc = 5
	ccBE cc = 6
	ccA  cc = 7
	ccS  cc = 8
	ccNS cc = 9
	ccP  cc = 10
	ccNP cc = 11
	ccL  cc = 12
	ccGE cc = 13
	ccLE cc = 14
	ccG  cc = 15

	ccAlways cc = 16
)

var ccNames = [...]string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"}

func (c cc) not() cc { return c ^ 1 }

// swapped is the condition after the operands of the comparison change places.
func (c cc) swapped() cc {
	switch c {
	case ccB:
		return ccA
	case ccA:
		return ccB
	case ccAE:
		return ccBE
	case ccBE:
		return ccAE
	case ccL:
		return ccG
	case ccG:
		return ccL
	case ccLE:
		return ccGE
	case ccGE:
		return ccLE
	}
	return c
}
