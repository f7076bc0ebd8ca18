package dwarf

import (
	"bytes"
	"encoding/binary"
)

// A function of Go begins with a check that its stack is large enough, and that nothing asks the
// goroutine to be preempted:
//
//	entry:  cmp  rsp,[r14+0x10]     or  lea r12,[rsp-N]; cmp r12,[r14+0x10]
//	        jbe  more               or  mov r12,rsp; sub r12,N; jb more; cmp ...; jbe more
//	body:   ...
//	more:   (store the arguments)
//	        call runtime.morestack_noctxt
//	        (load the arguments)
//	        jmp  entry
//
// Assembler, and all functions before Go 1.17, load the goroutine into rcx first. A call runs the
// instructions before body once and again, those from body on once. No register of an argument has
// changed there.

// behindGoCheck is the address of body for a function of Go that starts at entry, or entry where
// there is no check. The machine code decides.
func (pr *prologues) behindGoCheck(entry uint64) uint64 {
	if !pr.ofGo() {
		return entry
	}
	_, end, ok := pr.partialFunc(entry)
	if !ok || end <= entry || end-entry > maxGoFunction {
		return entry
	}
	code := pr.file.ReadVaddr(entry, int(end-entry))
	behind, compared := 0, false
	for at := 0; at < min(len(code), maxGoCheck); {
		in := goCheckInst(code[at:])
		switch {
		case in.len == 0:
			return entry + uint64(behind)
		case in.jump:
			if !goGrows(code, at+in.len+in.to) {
				return entry + uint64(behind)
			}
			if at += in.len; compared {
				return entry + uint64(at)
			}
			behind = at
			continue
		case in.compare:
			compared = true
		}
		at += in.len
	}
	return entry + uint64(behind)
}

const (
	maxGoCheck    = 64 // the longest check has 40 bytes
	maxGoFunction = 1 << 24
	maxGoSpills   = 512 // what stores or loads the arguments around morestack
)

// goInst is an instruction that a check consists of; len is 0 for any other.
type goInst struct {
	len     int
	compare bool // with the goroutine's limit
	jump    bool // if below, or below or equal
	to      int  // from the next instruction on
}

// goCheckInst recognises the instructions of checks.
func goCheckInst(b []byte) goInst {
	le := binary.LittleEndian
	switch {
	case len(b) >= 2 && (b[0] == 0x76 || b[0] == 0x72):
		return goInst{len: 2, jump: true, to: int(int8(b[1]))}
	case len(b) >= 6 && b[0] == 0x0f && (b[1] == 0x86 || b[1] == 0x82):
		return goInst{len: 6, jump: true, to: int(int32(le.Uint32(b[2:])))}
	}
	n := 0
	if len(b) > 0 && b[0] == 0x64 { // fs: thread-local storage
		n++
	}
	if len(b) < n+3 || b[n]&0xf8 != 0x48 {
		return goInst{}
	}
	op, modrm := b[n+1], b[n+2]
	size := n + 2 + operandLen(b[n+2:])
	in := goInst{len: size}
	switch op {
	case 0x3b: // cmp reg,[memory]
		base := modrm&7 | b[n]&1<<3
		in.compare = modrm>>6 == 1 && (base == 14 || base == 1) && size <= len(b) && (b[size-1] == 0x10 || b[size-1] == 0x18)
	case 0x89, 0x8b, 0x8d: // mov, lea
		if op == 0x89 && modrm>>6 != 3 {
			return goInst{} // a store
		}
	case 0x81: // sub reg,imm32
		in.len += 4
	case 0x83:
		in.len++
	case 0xc7: // mov reg,imm32
		in.len += 4
	default:
		return goInst{}
	}
	if (op == 0x81 || op == 0x83 || op == 0xc7) && modrm>>6 != 3 || in.len > len(b) {
		return goInst{}
	}
	return in
}

// operandLen is the length of a ModRM byte and of what belongs to it.
func operandLen(b []byte) int {
	n, mod, rm := 1, b[0]>>6, b[0]&7
	if mod != 3 && rm == 4 {
		n++
		if mod == 0 && len(b) > 1 && b[1]&7 == 5 {
			return n + 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && rm == 5:
		n += 4
	}
	return n
}

// goGrows reports whether the code at an offset of a function makes a call and enters the function again.
func goGrows(code []byte, at int) bool {
	if at < 0 || at >= len(code) {
		return false
	}
	b := code[at:min(at+maxGoSpills, len(code))]
	call := bytes.IndexByte(b, 0xe8)
	if call < 0 {
		return false
	}
	for i := call + 5; i < len(b); i++ {
		switch {
		case b[i] == 0xeb && i+2 <= len(b) && at+i+2+int(int8(b[i+1])) == 0,
			b[i] == 0xe9 && i+5 <= len(b) && at+i+5+int(int32(binary.LittleEndian.Uint32(b[i+1:]))) == 0:
			return true
		}
	}
	return false
}
