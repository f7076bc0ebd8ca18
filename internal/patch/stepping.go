package patch

// Stepping says what a single step over an instruction must heed.
type Stepping uint8

// The kinds.
const (
	StepPlain  Stepping = iota
	StepCall            // syscall, sysenter, int $0x80: the kernel may show both ends of the call
	StepPushes          // pushf: copies the flags, the trap flag among them
	StepPops            // popf, iret: sets them
	StepRepeat          // a string instruction with a count: one step is one iteration
)

// Stepping is that of in.
func (in *Inst) Stepping() Stepping {
	switch {
	case in.space == space0F && (in.opcode == 0x05 || in.opcode == 0x34):
		return StepCall
	case in.space != spaceOne:
		return StepPlain
	}
	switch c := in.opcode; {
	case c == 0xcd && in.b[in.Len-1] == 0x80:
		return StepCall
	case c == 0x9c:
		return StepPushes
	case c == 0x9d || c == 0xcf:
		return StepPops
	case in.pfx.rep != 0 && (c >= 0xa4 && c <= 0xa7 || c >= 0xaa && c <= 0xaf || c >= 0x6c && c <= 0x6f):
		return StepRepeat
	}
	return StepPlain
}

// Endbr reports whether in is endbr64, which only marks the target of a branch.
func (in *Inst) Endbr() bool { return string(in.Bytes()) == "\xf3\x0f\x1e\xfa" }

// Plain decodes an instruction of the one-byte table without a prefix except REX: its effect on registers
// follows from the results. modrm is 0 if there is none.
func (in *Inst) Plain() (opcode, rex, modrm byte, ok bool) {
	p := &in.pfx
	if in.space != spaceOne || p.opsize || p.addrsize || p.lock || p.rep != 0 || p.seg != 0 {
		return 0, 0, 0, false
	}
	if p.rex {
		rex = in.b[in.opOff-1]
	}
	if in.modOff != 0 {
		modrm = in.b[in.modOff]
	}
	return in.opcode, rex, modrm, true
}
