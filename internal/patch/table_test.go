package patch

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestInstructions: one line for each thing that can go wrong. Instructions lie
// at 0x401000 and are relocated to 0x500000; "" means that the copy is the same.
func TestInstructions(t *testing.T) {
	const retTo = "e8 01 00 00 00 cc c7 04 24 %s 10 40 00 c7 44 24 04 00 00 00 00"
	ret := func(at string) string { return strings.Replace(retTo, "%s", at, 1) }
	tests := []struct {
		text, code    string
		reads, writes RegSet
		flags         string // r read, w overwritten
		class         Class
		moved         string
	}{
		{"mov %rbx,%rax", "48 89 d8", RBX, RAX, "", Normal, ""},
		{"mov $1,%al", "b0 01", RAX, RAX, "", Normal, ""},
		{"mov $1,%ah", "b4 01", RAX, RAX, "", Normal, ""},
		{"mov $1,%spl", "40 b4 01", RSP, RSP, "", Normal, ""},
		{"mov $1,%ax", "66 b8 01 00", RAX, RAX, "", Normal, ""},
		{"movabs $imm,%r9", "49 b9 01 02 03 04 05 06 07 08", 0, R9, "", Normal, ""},
		{"movabs 0x8...,%eax", "a1 01 02 03 04 05 06 07 08", 0, RAX, "", Normal, ""},
		{"xor %eax,%eax", "31 c0", 0, RAX, "w", Normal, ""},
		{"xor %r9,%r9", "4d 31 c9", 0, R9, "w", Normal, ""},
		{"xor %r8,%rax", "4c 31 c0", RAX | R8, RAX, "w", Normal, ""},
		{"xor %ax,%ax", "66 31 c0", RAX, RAX, "w", Normal, ""},
		{"sub %rax,%rax", "48 29 c0", 0, RAX, "w", Normal, ""},
		{"sbb %eax,%eax", "19 c0", RAX, RAX, "rw", Normal, ""},
		{"and $0,%eax", "83 e0 00", RAX, RAX, "w", Normal, ""},
		{"inc %eax", "ff c0", RAX, RAX, "", Normal, ""},
		{"lock incl (%rdi)", "f0 ff 07", RDI, 0, "", Normal, ""},
		{"test %edi,%edi", "85 ff", RDI, 0, "w", Normal, ""},
		{"mov 0x10(%rip),%eax", "8b 05 10 00 00 00", 0, RAX, "", Normal, "8b 05 10 10 f0 ff"},
		{"cmpl $1,0x10(%rip)", "83 3d 10 00 00 00 01", 0, 0, "w", Normal, "83 3d 10 10 f0 ff 01"},
		{"vmovsd 0(%rip),%xmm0", "c5 fb 10 05 00 00 00 00", 0, 0, "", Normal, "c5 fb 10 05 00 10 f0 ff"},
		{"vpaddd 0(%rip),%zmm1,%zmm0", "62 f1 75 48 fe 05 00 00 00 00", 0, 0, "", Normal, "62 f1 75 48 fe 05 00 10 f0 ff"},
		{"lea 0x10(%rip),%rdi", "48 8d 3d 10 00 00 00", 0, RDI, "", Normal, "48 8d 3d 10 10 f0 ff"},
		{"lea (%rdi,%rsi,4),%eax", "8d 04 b7", RDI | RSI, RAX, "", Normal, ""},
		{"mov (%r12),%r13", "4d 8b 2c 24", R12, R13, "", Normal, ""},
		{"mov 0(%r13,%r12,2),%eax", "43 8b 44 65 00", R12 | R13, RAX, "", Normal, ""},
		{"mov 0x10,%eax", "8b 04 25 10 00 00 00", 0, RAX, "", Normal, ""},
		{"mov %fs:0x28,%rax", "64 48 8b 04 25 28 00 00 00", 0, RAX, "", Normal, ""},
		{"je", "74 10", 0, 0, "r", Jcc, "0f 84 0c 10 f0 ff"},
		{"jne rel32", "0f 85 10 00 00 00", 0, 0, "r", Jcc, "0f 85 10 10 f0 ff"},
		{"jmp to itself", "eb fe", 0, 0, "", Jmp, "e9 fb 0f f0 ff"},
		{"bnd jmp rel32", "f2 e9 10 00 00 00", 0, 0, "", Jmp, "e9 11 10 f0 ff"},
		{"loop", "e2 05", RCX, RCX, "", Loop, "e2 02 eb 05 e9 fe 0f f0 ff"},
		{"jrcxz", "e3 05", RCX, 0, "", Loop, "e3 02 eb 05 e9 fe 0f f0 ff"},
		{"jecxz", "67 e3 05", RCX, 0, "", Loop, "67 e3 02 eb 05 e9 fe 0f f0 ff"},
		{"call", "e8 00 00 00 00", AllGPR, 0, "r", Call, ret("05") + "e9 eb 0f f0 ff"},
		{"data16 rex.W call", "66 48 e8 00 00 00 00", AllGPR, 0, "r", Call, ret("07") + "e9 ed 0f f0 ff"},
		{"addr32 call", "67 e8 00 00 00 00", AllGPR, 0, "r", Call, ret("06") + "e9 ec 0f f0 ff"},
		{"call *%rax", "ff d0", AllGPR, 0, "r", CallInd, ret("02") + "ff e0"},
		{"notrack call *%r11", "3e 41 ff d3", AllGPR, 0, "r", CallInd, ret("04") + "3e 41 ff e3"},
		{"call *%rsp", "ff d4", AllGPR, 0, "r", CallInd, "ff f4 8f 44 24 f0" + ret("02") + "ff 64 24 f8"},
		{"call *8(%rsp)", "ff 54 24 08", AllGPR, 0, "r", CallInd, "ff 74 24 08 8f 44 24 f0" + ret("04") + "ff 64 24 f8"},
		{"call *(%rax)", "ff 10", AllGPR, 0, "r", CallInd, "ff 30 8f 44 24 f0" + ret("02") + "ff 64 24 f8"},
		{"call *0x10(%rip)", "ff 15 10 00 00 00", AllGPR, 0, "r", CallInd, ret("06") + "ff 25 fb 0f f0 ff"},
		{"call *%fs:0x10", "64 ff 14 25 10 00 00 00", AllGPR, 0, "r", CallInd, ret("08") + "64 ff 24 25 10 00 00 00"},
		{"jmp *0x10(%rip)", "ff 25 10 00 00 00", AllGPR, 0, "r", JmpInd, "ff 25 10 10 f0 ff"},
		{"ret", "c3", AllGPR, 0, "r", Ret, ""},
		{"repz ret", "f3 c3", AllGPR, 0, "r", Ret, ""},
		{"syscall", "0f 05", AllGPR, 0, "r", Syscall, ""},
		{"int3", "cc", AllGPR, 0, "r", Int3, ""},
		{"ud2", "0f 0b", AllGPR, 0, "r", Trap, ""},
		{"rep movsb", "f3 a4", RCX | RSI | RDI, RCX | RSI | RDI, "", Normal, ""},
		{"movsb", "a4", RSI | RDI, RSI | RDI, "", Normal, ""},
		{"rep stos", "f3 48 ab", RAX | RCX | RDI, RCX | RDI, "", Normal, ""},
		{"repnz scas", "f2 ae", RAX | RCX | RDI, RCX | RDI, "", Normal, ""},
		{"mul %rcx", "48 f7 e1", RAX | RCX, RAX | RDX, "", Normal, ""},
		{"mul %cl", "f6 e1", RAX | RCX, RAX, "", Normal, ""},
		{"mul %cx", "66 f7 e1", RAX | RCX | RDX, RAX | RDX, "", Normal, ""},
		{"div %rcx", "48 f7 f1", RAX | RCX | RDX, RAX | RDX, "", Normal, ""},
		{"cqto", "48 99", RAX, RDX, "", Normal, ""},
		{"cltq", "48 98", RAX, RAX, "", Normal, ""},
		{"shl %cl,%eax", "d3 e0", RAX | RCX, RAX, "", Normal, ""},
		{"shl $3,%eax", "c1 e0 03", RAX, RAX, "w", Normal, ""},
		{"shl $32,%eax: nothing", "c1 e0 20", RAX, RAX, "", Normal, ""},
		{"shl $32,%rax", "48 c1 e0 20", RAX, RAX, "w", Normal, ""},
		{"shl $9,%al", "c0 e0 09", RAX, RAX, "", Normal, ""},
		{"shr %eax", "d1 e8", RAX, RAX, "w", Normal, ""},
		{"rol $3,%eax", "c1 c0 03", RAX, RAX, "", Normal, ""},
		{"rcl $3,%eax", "c1 d0 03", RAX, RAX, "r", Normal, ""},
		{"shlx", "c4 e2 69 f7 c1", RDX | RCX, RAX, "", Normal, ""},
		{"mulx %rbx,%rcx,%rax", "c4 e2 f3 f6 c3", RBX | RDX, RAX | RCX, "", Normal, ""},
		{"andn", "c4 e2 70 f2 c3", RCX | RBX, RAX, "", Normal, ""},
		{"cpuid", "0f a2", RAX | RCX, RAX | RBX | RCX | RDX, "", Normal, ""},
		{"rdtsc", "0f 31", 0, RAX | RDX, "", Normal, ""},
		{"rdtscp", "0f 01 f9", 0, RAX | RCX | RDX, "", Normal, ""},
		{"rdpid %rax", "f3 0f c7 f8", 0, RAX, "", Normal, ""},
		{"rdrand %eax", "0f c7 f0", 0, RAX, "w", Normal, ""},
		{"lock cmpxchg %ecx,(%rdi)", "f0 0f b1 0f", RAX | RCX | RDI, RAX, "w", Normal, ""},
		{"cmpxchg16b (%rdi)", "48 0f c7 0f", RAX | RBX | RCX | RDX | RDI, RAX | RDX, "", Normal, ""},
		{"xadd %eax,(%rdi)", "0f c1 07", RAX | RDI, RAX, "w", Normal, ""},
		{"xchg %ebx,%ecx", "87 d9", RBX | RCX, RBX | RCX, "", Normal, ""},
		{"xchg %rax,%r8", "49 90", RAX | R8, RAX | R8, "", Normal, ""},
		{"push %rax", "50", RAX | RSP, RSP, "", Normal, ""},
		{"pop %r12", "41 5c", RSP, RSP | R12, "", Normal, ""},
		{"pop 8(%rbx)", "8f 43 08", RSP | RBX, RSP, "", Normal, ""},
		{"leave", "c9", RBP, RBP | RSP, "", Normal, ""},
		{"pushf", "9c", RSP, RSP, "r", Normal, ""},
		{"popf", "9d", RSP, RSP, "w", Normal, ""},
		{"lahf", "9f", RAX, RAX, "r", Normal, ""},
		{"sahf", "9e", RAX, 0, "", Normal, ""},
		{"cmc", "f5", 0, 0, "r", Normal, ""},
		{"cmove %eax,%ecx", "0f 44 c8", RAX | RCX, RCX, "r", Normal, ""},
		{"sete %ah", "0f 94 c4", RAX, RAX, "r", Normal, ""},
		{"movzbl %ah,%ecx", "0f b6 cc", RAX, RCX, "", Normal, ""},
		{"movzbl %spl,%ecx", "40 0f b6 cc", RSP, RCX, "", Normal, ""},
		{"bsf", "0f bc c1", RAX | RCX, RAX, "", Normal, ""},
		{"popcnt", "f3 0f b8 c1", RCX, RAX, "w", Normal, ""},
		{"crc32b", "f2 0f 38 f0 c1", RAX | RCX, RAX, "", Normal, ""},
		{"adcx", "66 0f 38 f6 c1", RAX | RCX, RAX, "r", Normal, ""},
		{"movbe (%rdi),%eax", "0f 38 f0 07", RDI, RAX, "", Normal, ""},
		{"movd %xmm0,%eax", "66 0f 7e c0", 0, RAX, "", Normal, ""},
		{"cvttsd2si", "f2 0f 2c c0", 0, RAX, "", Normal, ""},
		{"ucomisd", "66 0f 2e c1", 0, 0, "w", Normal, ""},
		{"pcmpistri", "66 0f 3a 63 c1 0c", 0, RCX, "w", Normal, ""},
		{"pcmpestri", "66 0f 3a 61 c1 0c", RAX | RDX, RCX, "w", Normal, ""},
		{"maskmovdqu", "66 0f f7 c1", RDI, 0, "", Normal, ""},
		{"vgatherdpd (%rdi,%xmm1,8)", "c4 e2 ed 92 04 cf", RDI, 0, "", Normal, ""},
		{"vmovdqu64 (%rdi),%zmm0", "62 f1 fe 48 6f 07", RDI, 0, "", Normal, ""},
		{"vpbroadcastd %eax,%zmm0", "62 f2 7d 48 7c c0", RAX, 0, "", Normal, ""},
		{"kmovd %k1,%eax", "c5 fb 93 c1", 0, RAX, "", Normal, ""},
		{"kortestw %k0,%k1", "c5 f8 98 c8", 0, 0, "w", Normal, ""},
		{"vaddph (FP16)", "62 f5 74 48 58 c2", 0, 0, "", Normal, ""},
		{"vzeroupper", "c5 f8 77", 0, 0, "", Normal, ""},
		{"vpcmov (XOP)", "8f e8 78 a2 c1 20", 0, 0, "", Normal, ""},
		{"bextr $imm32 (TBM)", "8f ea 78 10 c1 01 02 03 04", RCX, RAX, "", Normal, ""},
		{"pfadd (3DNow)", "0f 0f c1 9e", 0, 0, "", Normal, ""},
		{"endbr64", "f3 0f 1e fa", 0, 0, "", Normal, ""},
		{"nop", "90", 0, 0, "", Nop, ""},
		{"xchg %ax,%ax", "66 90", 0, 0, "", Nop, ""},
		{"pause", "f3 90", 0, 0, "", Normal, ""},
		{"fnstsw %ax", "df e0", RAX, RAX, "", Normal, ""},
		{"fcmove", "da c9", 0, 0, "r", Normal, ""},
		{"rdfsbase %rax", "f3 48 0f ae c0", 0, RAX, "", Normal, ""},
		{"xlat", "d7", RAX | RBX, RAX, "", Normal, ""},
		{"in: unknown effects", "ec", AllGPR, 0, "r", Normal, ""},
	}
	for _, tt := range tests {
		code := unhex(t, tt.code)
		in, err := Decode(append(code, 0x90, 0x90), 0x401000)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		flags := ""
		if in.FlagsRead {
			flags = "r"
		}
		if in.FlagsWritten {
			flags += "w"
		}
		if in.Len != len(code) || in.Reads != tt.reads || in.Writes != tt.writes || flags != tt.flags || in.Class != tt.class {
			t.Errorf("%s: length %d reads %016b writes %016b flags %q class %s", tt.text, in.Len, in.Reads, in.Writes, flags, in.Class)
		}
		e := emitter{base: 0x500000}
		want := code
		if tt.moved != "" {
			want = unhex(t, tt.moved)
		}
		if err := e.relocate(&in); err != nil || string(e.code) != string(want) {
			t.Errorf("%s: moved % x, want % x (%v)", tt.text, e.code, want, err)
		}
	}
}

// TestFar: what is out of reach of 32 bits.
func TestFar(t *testing.T) {
	tests := []struct{ text, code, moved string }{
		{"je", "74 10", "75 0e ff 25 00 00 00 00 12 10 40 00 00 00 00 00"},
		{"jmp", "eb 10", "ff 25 00 00 00 00 12 10 40 00 00 00 00 00"},
		{"loop", "e2 10", "e2 02 eb 0e ff 25 00 00 00 00 12 10 40 00 00 00 00 00"},
		{"mov rip", "8b 05 10 00 00 00", ""},
		{"call *rip", "ff 15 10 00 00 00", ""},
	}
	for _, tt := range tests {
		in, err := Decode(unhex(t, tt.code), 0x401000)
		if err != nil {
			t.Fatal(err)
		}
		e := emitter{base: 0x7f0000000000}
		err = e.relocate(&in)
		var far *FarError
		if tt.moved == "" {
			if !errors.As(err, &far) {
				t.Errorf("%s: error %v", tt.text, err)
			}
		} else if err != nil || string(e.code) != string(unhex(t, tt.moved)) {
			t.Errorf("%s: % x %v", tt.text, e.code, err)
		}
	}
}

// TestRefused: encodings that must not be decoded.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ text, code string }{
		{"nothing", ""},
		{"truncated", "48 8b"},
		{"truncated immediate", "b8 01 02 03"},
		{"truncated VEX", "c5 f8"},
		{"prefixes only", "66 66 66"},
		{"call rel16 or rel32", "66 e8 00 00 00 00"},
		{"je rel16 or not", "66 74 00"},
		{"retw", "66 c3"},
		{"push es", "06"},
		{"REX2 (APX)", "d5 00 01 c0"},
		{"EVEX map 4 (APX)", "62 f4 7c 08 01 c0"},
		{"EVEX with B4 (APX)", "62 f9 7c 08 58 c0"},
		{"lock mov", "f0 89 07"},
		{"lock add to a register", "f0 01 c0"},
		{"REX before a prefix", "48 66 89 c0"},
		{"VEX after 66", "66 c5 f8 77"},
		{"16 bytes", "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90"},
		{"both repeats", "f2 f3 a4"},
		{"gather without SIB", "c4 e2 ed 92 07"},
		{"unknown 3DNow", "0f 0f c1 00"},
	} {
		in, err := Decode(unhex(t, tt.code), 0x1000)
		var de *DecodeError
		if !errors.As(err, &de) {
			t.Errorf("%s: decoded as %s, error %v", tt.text, &in, err)
		}
	}
}
