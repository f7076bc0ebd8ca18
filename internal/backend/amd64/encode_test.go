package amd64

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// encodings are instructions with their bytes and text, one or more for each
// form and corner of modrm, SIB and REX.
var encodings = []struct {
	setup func(a *asm)
	hex   string
	text  string
}{
	{func(a *asm) { a.rm(iADD, 4, RAX, rmReg(RSI), 0) }, "03c6", "add %esi,%eax"},
	{func(a *asm) { a.rm(iADD, 8, R15, rmMem(at(RAX, 0)), 0) }, "4c0338", "add (%rax),%r15"},
	{func(a *asm) { a.mr(iSUB, 8, rmMem(at(R13, 0)), RBP) }, "49296d00", "sub %rbp,0x0(%r13)"},
	{func(a *asm) { a.mr(iCMP, 1, rmMem(at(RSP, 8)), RSI) }, "4038742408", "cmp %sil,0x8(%rsp)"},
	{func(a *asm) { a.mi(iCMP, 1, rmMem(at(RDI, 4)), 47) }, "807f042f", "cmpb $0x2f,0x4(%rdi)"},
	{func(a *asm) { a.mi(iCMP, 2, rmMem(at(RDI, 4)), 0x1234) }, "66817f043412", "cmpw $0x1234,0x4(%rdi)"},
	{func(a *asm) { a.mi(iAND, 8, rmReg(R9), -8) }, "4983e1f8", "and $0xfffffffffffffff8,%r9"},
	{func(a *asm) { a.mi(iOR, 4, rmMem(at(RSP, 12)), 0x1f80) }, "814c240c801f0000", "orl $0x1f80,0xc(%rsp)"},
	{func(a *asm) { a.mr(iXOR, 4, rmReg(R8), R8) }, "4531c0", "xor %r8d,%r8d"},
	{func(a *asm) { a.mr(iTEST, 8, rmReg(R12), RAX) }, "4985c4", "test %rax,%r12"},
	{func(a *asm) { a.mi(iTEST, 1, rmReg(RSI), 7) }, "40f6c607", "test $0x7,%sil"},
	{func(a *asm) { a.mi(iTEST, 4, rmMem(ripTo(fixed(0x401000))), 1<<30) }, "f705f60f000000000040", "testl $0x40000000,0xff6(%rip)"},
	{func(a *asm) { a.rm(iMOV, 8, RDX, rmMem(at(R12, 0x1000)), 0) }, "498b942400100000", "mov 0x1000(%r12),%rdx"},
	{func(a *asm) { a.mr(iMOV, 2, rmMem(at(RCX, 0)), R9) }, "66448909", "mov %r9w,(%rcx)"},
	{func(a *asm) { a.mr(iMOV, 1, rmMem(atIdx(RBP, R9, 2, -1)), RDI) }, "42887c4dff", "mov %dil,-0x1(%rbp,%r9,2)"},
	{func(a *asm) { a.mi(iMOV, 4, rmMem(at(RCX, 4)), 0) }, "c7410400000000", "movl $0x0,0x4(%rcx)"},
	{func(a *asm) { a.mi(iMOV, 8, rmMem(at(RCX, 24)), -1) }, "48c74118ffffffff", "movq $0xffffffffffffffff,0x18(%rcx)"},
	{func(a *asm) { a.mi(iMOV, 1, rmMem(at(RCX, 24)), -1) }, "c64118ff", "movb $0xff,0x18(%rcx)"},
	{func(a *asm) { a.rm(iMOV, 8, RAX, rmMem(mem{base: NoReg, index: NoReg, seg: 0x64, lab: noLabel}), 0) }, "64488b042500000000", "mov %fs:0x0,%rax"},
	{func(a *asm) {
		a.rm(iMOV, 4, R8, rmMem(mem{base: NoReg, index: NoReg, disp: -32, seg: 0x64, lab: noLabel}), 0)
	}, "64448b0425e0ffffff", "mov %fs:0xffffffffffffffe0,%r8d"},
	{func(a *asm) { a.rm(iLEA, 4, RAX, rmMem(atIdx(RSI, RSI, 2, 0)), 0) }, "8d0476", "lea (%rsi,%rsi,2),%eax"},
	{func(a *asm) { a.rm(iLEA, 8, RSP, rmMem(at(RSP, -0xa0)), 0) }, "488da42460ffffff", "lea -0xa0(%rsp),%rsp"},
	{func(a *asm) { a.rm(iLEA, 8, R11, rmMem(ripTo(fixed(0x400000))), 0) }, "4c8d1df9ffffff", "lea -0x7(%rip),%r11"},
	{func(a *asm) { a.rm(iLEA, 8, RDX, rmMem(atIdx(R13, R12, 8, 0)), 0) }, "4b8d54e500", "lea 0x0(%r13,%r12,8),%rdx"},
	{func(a *asm) { a.m(iINC, 8, rmMem(atIdx(NoReg, RAX, 1, 0x1000)), 0) }, "48ff040500100000", "incq 0x1000(,%rax,1)"},
	{func(a *asm) { a.m(iLOCKINC, 8, rmMem(atIdx(RDX, RAX, 1, 0)), 0) }, "f048ff0402", "lock incq (%rdx,%rax,1)"},
	{func(a *asm) { a.mr(iXCHG, 8, rmReg(R8), RAX) }, "4987c0", "xchg %rax,%r8"},
	{func(a *asm) { a.rm(iIMUL, 4, R8, rmReg(RCX), 0) }, "440fafc1", "imul %ecx,%r8d"},
	{func(a *asm) { a.rmi(8, RAX, rmMem(at(RDI, 8)), 100) }, "486b470864", "imul $0x64,0x8(%rdi),%rax"},
	{func(a *asm) { a.rmi(4, RAX, rmReg(RDI), 1000) }, "69c7e8030000", "imul $0x3e8,%edi,%eax"},
	{func(a *asm) { a.m(iNOT, 8, rmReg(RBX), 0) }, "48f7d3", "not %rbx"},
	{func(a *asm) { a.m(iNEG, 4, rmReg(R10), 0) }, "41f7da", "neg %r10d"},
	{func(a *asm) { a.m(iDIV, 8, rmReg(RCX), 0) }, "48f7f1", "div %rcx"},
	{func(a *asm) { a.m(iIDIV, 4, rmMem(at(RSP, 16)), 0) }, "f77c2410", "idivl 0x10(%rsp)"},
	{func(a *asm) { a.mi(iSHL, 8, rmReg(RDX), 32) }, "48c1e220", "shl $0x20,%rdx"},
	{func(a *asm) { a.mi(iROR, 8, rmReg(R9), 9) }, "49c1c909", "ror $0x9,%r9"},
	{func(a *asm) { a.mi(iSHR, 4, rmReg(R9), 3) }, "41c1e903", "shr $0x3,%r9d"},
	{func(a *asm) { a.mi(iSAR, 8, rmReg(RAX), 63) }, "48c1f83f", "sar $0x3f,%rax"},
	{func(a *asm) { a.m(iSHLCL, 8, rmReg(RAX), 0) }, "48d3e0", "shl %cl,%rax"},
	{func(a *asm) { a.m(iSHRCL, 4, rmReg(R8), 0) }, "41d3e8", "shr %cl,%r8d"},
	{func(a *asm) { a.m(iSARCL, 8, rmReg(RDI), 0) }, "48d3ff", "sar %cl,%rdi"},
	{func(a *asm) { a.rm(iMOVZB, 4, RAX, rmReg(RSI), 0) }, "400fb6c6", "movzbl %sil,%eax"},
	{func(a *asm) { a.rm(iMOVZW, 4, R9, rmMem(at(RDX, 2)), 0) }, "440fb74a02", "movzwl 0x2(%rdx),%r9d"},
	{func(a *asm) { a.rm(iMOVSB, 8, RAX, rmReg(R9), 0) }, "490fbec1", "movsbq %r9b,%rax"},
	{func(a *asm) { a.rm(iMOVSW, 8, RAX, rmMem(at(RDI, 0)), 0) }, "480fbf07", "movswq (%rdi),%rax"},
	{func(a *asm) { a.rm(iMOVSL, 8, RAX, rmReg(RDI), 0) }, "4863c7", "movslq %edi,%rax"},
	{func(a *asm) { a.m(iSET, 1, rmReg(RDI), ccNE) }, "400f95c7", "setne %dil"},
	{func(a *asm) { a.rm(iCMOV, 8, RAX, rmReg(R8), ccB) }, "490f42c0", "cmovb %r8,%rax"},
	{func(a *asm) { a.plain(iLAHF) }, "9f", "lahf"},
	{func(a *asm) { a.plain(iSAHF) }, "9e", "sahf"},
	{func(a *asm) { a.plain(iCDQ) }, "99", "cltd"},
	{func(a *asm) { a.plain(iCQO) }, "4899", "cqto"},
	{func(a *asm) { a.plain(iRDTSC) }, "0f31", "rdtsc"},
	{func(a *asm) { a.plain(iPAUSE) }, "f390", "pause"},
	{func(a *asm) { a.plain(iPUSHF) }, "9c", "pushf"},
	{func(a *asm) { a.plain(iPOPF) }, "9d", "popf"},
	{func(a *asm) { a.m(iRDPID, 8, rmReg(R8), 0) }, "f3410fc7f8", "rdpid %r8"},
	{func(a *asm) { a.rm(iLSL, 4, RAX, rmReg(RAX), 0) }, "0f03c0", "lsl %eax,%eax"},
	{func(a *asm) { a.m(iRDFSBASE, 8, rmReg(RAX), 0) }, "f3480faec0", "rdfsbase %rax"},
	{func(a *asm) { a.m(iRDGSBASE, 8, rmReg(R9), 0) }, "f3490faec9", "rdgsbase %r9"},
	{func(a *asm) { a.mr(iLOCKADD, 8, rmMem(at(RCX, 8)), R8) }, "f04c014108", "lock add %r8,0x8(%rcx)"},
	{func(a *asm) { a.mi(iLOCKADDI, 4, rmMem(atIdx(RCX, RAX, 8, 2048)), 3) }, "f08384c10008000003", "lock addl $0x3,0x800(%rcx,%rax,8)"},
	{func(a *asm) { a.mr(iLOCKXADD, 8, rmMem(at(RCX, 8)), R8) }, "f04c0fc14108", "lock xadd %r8,0x8(%rcx)"},
	{func(a *asm) { a.mr(iCMPXCHG, 8, rmMem(at(RCX, 0)), R8) }, "f04c0fb101", "lock cmpxchg %r8,(%rcx)"},
	{func(a *asm) { a.m(iPUSHM, 8, rmMem(at(RSP, 8)), 0) }, "ff742408", "push 0x8(%rsp)"},
	{func(a *asm) { a.m(iPOPM, 8, rmMem(at(RSP, 8)), 0) }, "8f442408", "pop 0x8(%rsp)"},
	{func(a *asm) { a.m(iSTMXCSR, 4, rmMem(at(RSP, 8)), 0) }, "0fae5c2408", "stmxcsr 0x8(%rsp)"},
	{func(a *asm) { a.m(iLDMXCSR, 4, rmMem(at(RSP, 8)), 0) }, "0fae542408", "ldmxcsr 0x8(%rsp)"},
	{func(a *asm) { a.m(iFXSAVE, 8, rmMem(at(RCX, 0)), 0) }, "480fae01", "fxsave64 (%rcx)"},
	{func(a *asm) { a.m(iFXSAVE, 8, rmMem(at(R12, 8)), 0) }, "490fae442408", "fxsave64 0x8(%r12)"},
	{func(a *asm) { a.plain(iXGETBV) }, "0f01d0", "xgetbv"},
	{func(a *asm) { a.m(iPREFETCHW, 8, rmMem(at(RCX, 1024)), 0) }, "0f0d8900040000", "prefetchw 0x400(%rcx)"},
	{func(a *asm) { a.m(iPREFETCHT0, 8, rmMem(at(R12, 8)), 0) }, "410f184c2408", "prefetcht0 0x8(%r12)"},
	{func(a *asm) { a.m(iMOVES, 4, rmReg(RAX), 0) }, "8cc0", "mov %es,%eax"},
	{func(a *asm) { a.m(iMOVDS, 4, rmReg(R9), 0) }, "418cd9", "mov %ds,%r9d"},
	{func(a *asm) { a.m(iMOVFS, 4, rmReg(RSI), 0) }, "8ce6", "mov %fs,%esi"},
	{func(a *asm) { a.m(iMOVGS, 4, rmReg(R15), 0) }, "418cef", "mov %gs,%r15d"},
	{func(a *asm) { a.vextract(at(RCX, 24), 0) }, "c4e37d19411801", "vextractf128 $0x1,%ymm0,0x18(%rcx)"},
	{func(a *asm) { a.vextract(at(R12, 0), 15) }, "c4437d193c2401", "vextractf128 $0x1,%ymm15,(%r12)"},
	{func(a *asm) { a.vextract(at(R13, 0x100), 7) }, "c4c37d19bd0001000001", "vextractf128 $0x1,%ymm7,0x100(%r13)"},
	{func(a *asm) { a.vextract(atIdx(RSP, R9, 2, -8), 9) }, "c4237d194c4cf801", "vextractf128 $0x1,%ymm9,-0x8(%rsp,%r9,2)"},
	{func(a *asm) { a.vextract(ripTo(fixed(0x401000)), 8) }, "c4637d1905f60f000001", "vextractf128 $0x1,%ymm8,0xff6(%rip)"},
	{func(a *asm) { a.rm(iBSF, 8, RAX, rmReg(RDX), 0) }, "480fbcc2", "bsf %rdx,%rax"},
	{func(a *asm) { a.rm(iBSR, 8, RAX, rmReg(RDX), 0) }, "480fbdc2", "bsr %rdx,%rax"},
	{func(a *asm) { a.movImm(R9, 5) }, "41b905000000", "mov $0x5,%r9d"},
	{func(a *asm) { a.movImm(RAX, -5) }, "48c7c0fbffffff", "mov $0xfffffffffffffffb,%rax"},
	{func(a *asm) { a.movImm(R11, 1<<40) }, "49bb0000000000010000", "movabs $0x10000000000,%r11"},
	{func(a *asm) { a.rm(iMOVUPS, 8, 9, rmMem(at(RSP, 0)), 0) }, "440f100c24", "movups (%rsp),%xmm9"},
	{func(a *asm) { a.mr(iMOVUPS, 8, rmMem(at(RSP, 16)), 0) }, "0f11442410", "movups %xmm0,0x10(%rsp)"},
	{func(a *asm) { a.rm(iMOVAPS, 4, 1, rmReg(8), 0) }, "410f28c8", "movaps %xmm8,%xmm1"},
	{func(a *asm) { a.rm(iMOVSD, 4, 8, rmMem(at(R8, 8)), 0) }, "f2450f104008", "movsd 0x8(%r8),%xmm8"},
	{func(a *asm) { a.mr(iMOVSS, 4, rmMem(at(RCX, 24)), 9) }, "f3440f114918", "movss %xmm9,0x18(%rcx)"},
	{func(a *asm) { a.rm(iADDSD, 4, 0, rmReg(1), 0) }, "f20f58c1", "addsd %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iSUBSD, 4, 0, rmReg(1), 0) }, "f20f5cc1", "subsd %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iMULSD, 4, 0, rmMem(at(RAX, 0)), 0) }, "f20f5900", "mulsd (%rax),%xmm0"},
	{func(a *asm) { a.rm(iDIVSD, 4, 0, rmReg(1), 0) }, "f20f5ec1", "divsd %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iADDSS, 4, 0, rmReg(1), 0) }, "f30f58c1", "addss %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iSUBSS, 4, 0, rmReg(1), 0) }, "f30f5cc1", "subss %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iMULSS, 4, 0, rmReg(1), 0) }, "f30f59c1", "mulss %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iDIVSS, 4, 15, rmReg(1), 0) }, "f3440f5ef9", "divss %xmm1,%xmm15"},
	{func(a *asm) { a.rm(iUCOMISD, 4, 0, rmReg(1), 0) }, "660f2ec1", "ucomisd %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iUCOMISS, 4, 0, rmReg(9), 0) }, "410f2ec1", "ucomiss %xmm9,%xmm0"},
	{func(a *asm) { a.rm(iCVTSI2SD, 8, 0, rmReg(RAX), 0) }, "f2480f2ac0", "cvtsi2sd %rax,%xmm0"},
	{func(a *asm) { a.rm(iCVTSI2SS, 8, 0, rmMem(at(RSP, 8)), 0) }, "f3480f2a442408", "cvtsi2ssq 0x8(%rsp),%xmm0"},
	{func(a *asm) { a.rm(iCVTTSD2SI, 8, RAX, rmReg(1), 0) }, "f2480f2cc1", "cvttsd2si %xmm1,%rax"},
	{func(a *asm) { a.rm(iCVTTSS2SI, 8, R9, rmReg(1), 0) }, "f34c0f2cc9", "cvttss2si %xmm1,%r9"},
	{func(a *asm) { a.rm(iCVTSD2SS, 4, 0, rmReg(1), 0) }, "f20f5ac1", "cvtsd2ss %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iCVTSS2SD, 4, 0, rmReg(1), 0) }, "f30f5ac1", "cvtss2sd %xmm1,%xmm0"},
	{func(a *asm) { a.rm(iMOVQ, 8, 1, rmReg(RAX), 0) }, "66480f6ec8", "movq %rax,%xmm1"},
	{func(a *asm) { a.mr(iMOVQ, 4, rmReg(R9), 1) }, "66410f7ec9", "movd %xmm1,%r9d"},
	{func(a *asm) { a.rm(iXORPS, 4, 1, rmReg(2), 0) }, "0f57ca", "xorps %xmm2,%xmm1"},
}

const encodeBase = 0x400000

// TestEncodings compares bytes and text with the table, and both with objdump.
func TestEncodings(t *testing.T) {
	seen := map[insnOp]bool{}
	var all []byte
	for _, e := range encodings {
		a := &asm{base: encodeBase, keep: true}
		e.setup(a)
		code, _, l, err := a.link()
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(code); got != e.hex {
			t.Errorf("%s: %s, want %s", e.text, got, e.hex)
		}
		i := &a.insns[secHot][0]
		seen[i.op] = true
		w := &writer{a: a, l: l, next: encodeBase + uint64(len(code))}
		if got := stripTarget(w.insn(i)); got != e.text {
			t.Errorf("text %q, want %q", got, e.text)
		}
		all = append(all, code...)
	}
	for op := insnOp(0); op < numInsn; op++ {
		if !seen[op] {
			t.Errorf("no encoding of %s (%d) in the table", insns[op].name, op)
		}
	}
	texts := disassemble(t, all)
	if len(texts) != len(encodings) {
		t.Fatalf("objdump finds %d instructions, want %d", len(texts), len(encodings))
	}
	for k, e := range encodings {
		if texts[k] != e.text {
			t.Errorf("objdump says %q, the table %q", texts[k], e.text)
		}
	}
}

func stripTarget(s string) string {
	s, _, _ = strings.Cut(s, " #")
	return s
}

var spaces = regexp.MustCompile(`\s+`)

// disassemble gives objdump's text of each instruction.
func disassemble(t *testing.T, code []byte) []string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(bin, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--adjust-vma", fmt.Sprint(encodeBase), "--no-show-raw-insn", bin).Output()
	if err != nil {
		t.Fatalf("objdump: %v", err)
	}
	var texts []string
	for _, line := range strings.Split(string(out), "\n") {
		if _, insn, ok := strings.Cut(line, ":\t"); ok {
			texts = append(texts, strings.TrimSpace(spaces.ReplaceAllString(stripTarget(insn), " ")))
		}
	}
	return texts
}

// TestListingMatchesObjdump compares every listed instruction of a program.
func TestListingMatchesObjdump(t *testing.T) {
	c, err := Compile(paperProgram(), Config{Addr: encodeBase, Layout: testLayout(0x500000)})
	if err != nil {
		t.Fatal(err)
	}
	want := disassemble(t, c.Bytes)
	k := 0
	for _, line := range c.Listing() {
		if strings.HasPrefix(line, ";") {
			continue
		}
		text, _, _ := strings.Cut(line[45:], "    ; ")
		got := stripTarget(strings.TrimSpace(text))
		if k >= len(want) || got != want[k] {
			t.Fatalf("instruction %d: listing %q, objdump %q", k, got, want[k])
		}
		k++
	}
	if k != len(want) {
		t.Fatalf("%d instructions listed, objdump finds %d", k, len(want))
	}
}
