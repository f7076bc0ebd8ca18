package kernel

import (
	"encoding/hex"
	"testing"
)

// TestMisrun: vector instructions that share their opcode byte with a branch or a nop
// are found, in each encoding; branches, nops and other vector instructions are not.
func TestMisrun(t *testing.T) {
	for code, want := range map[string]bool{
		"c5f174c1":         true,  // vpcmpeqb %xmm1,%xmm1,%xmm0
		"c5f877":           true,  // vzeroupper
		"62e27d487ac6":     true,  // vpbroadcastb %esi,%zmm16
		"c4e27d78c1":       true,  // vpbroadcastb %xmm1,%ymm0
		"c5f5ebc9":         true,  // vpor %ymm1,%ymm1,%ymm1
		"64c5fd7f0424":     true,  // vmovdqa %ymm0,%fs:(%rsp)
		"c5f890c1":         true,  // kmovw %k1,%k0
		"62f1fe487f07":     true,  // vmovdqu64 %zmm0,(%rdi)
		"c5f058c1":         false, // vaddps %xmm1,%xmm1,%xmm0
		"c5f857c0":         false, // vxorps %xmm0,%xmm0,%xmm0
		"62e1fe486f06":     false, // vmovdqu64 (%rsi),%zmm16
		"7402":             false, // je
		"eb02":             false, // jmp
		"90":               false,
		"0f1f440000":       false,
		"660f74c1":         false, // pcmpeqb %xmm1,%xmm0
		"8f00":             false, // pop (%rax)
		"8fe97870c1":       true,  // XOP with opcode 70
		"f30f1efa":         false, // endbr64
		"4889f8":           false, // mov %rdi,%rax
		"41570f1f84000000": false, // push %r15
	} {
		b, err := hex.DecodeString(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := misrun(append(b, make([]byte, 15)...)); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
}

// TestUnstepped: instructions that the kernel cannot step over in a copy are found.
func TestUnstepped(t *testing.T) {
	for code, want := range map[string]bool{
		"0f05":       true,  // syscall
		"f30f05":     true,  // the same with a prefix
		"0f34":       true,  // sysenter
		"cd80":       true,  // int $0x80
		"9c":         true,  // pushf
		"669c":       true,  // pushfw
		"9d":         false, // popf: the kernel sees to it
		"0f07":       false, // sysret
		"0f050f05":   true,
		"9090":       false,
		"50":         false, // push %rax
		"b80f050000": false, // mov $0x50f,%eax
		"c3":         false,
	} {
		b, err := hex.DecodeString(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := unstepped(append(b, make([]byte, 15)...)); (got != "") != want {
			t.Errorf("%s: %q", code, got)
		}
	}
}

// TestRepeats: string instructions with a count are found.
func TestRepeats(t *testing.T) {
	for code, want := range map[string]bool{
		"f3aa":       true,  // rep stos %al
		"f348ab":     true,  // rep stos %rax
		"f3a4":       true,  // rep movsb
		"f2ae":       true,  // repne scas
		"f3a6":       true,  // repe cmpsb
		"aa":         false, // stos %al
		"f3c3":       false, // rep ret
		"f390":       false, // pause
		"f30f1efa":   false, // endbr64
		"f3480fbcc0": false, // tzcnt
	} {
		b, err := hex.DecodeString(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := repeats(append(b, make([]byte, 15)...)); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
}
