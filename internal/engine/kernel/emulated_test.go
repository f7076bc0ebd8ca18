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
