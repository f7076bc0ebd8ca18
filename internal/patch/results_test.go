package patch

import (
	"encoding/hex"
	"testing"
)

// TestTaken: what counts as a use of a result behind a call, and what does not.
func TestTaken(t *testing.T) {
	for _, c := range []struct {
		code string
		want Taken
	}{
		{"4889c7 4889d6 c3", TakenRAX | TakenRDX}, // mov rdi, rax; mov rsi, rdx
		{"50 58 c3", 0},                                 // push rax keeps the stack aligned
		{"31c0 89c7 c3", 0},                             // xor eax, eax
		{"4883c8ff 4889c7 c3", 0},                       // or rax, -1
		{"83e000 c3", 0},                                // and eax, 0
		{"2401 8845ff c3", TakenRAX},                    // and al, 1
		{"0f94c0 0fb6c0 c3", 0},                         // sete al writes a part
		{"b801000000 4889c7 c3", 0},                     // mov eax, 1
		{"e800000000 4889c7 c3", 0},                     // another call
		{"84c0 7402 89d7 89d6 c3", TakenRAX | TakenRDX}, // test al, al; je
		{"eb02 0f0b 4889c7 c3", TakenRAX},               // jmp over
		{"f20f1145f8 c3", TakenXMM0},                    // movsd [rbp-8], xmm0
		{"0f28c8 0f11 4510 c3", TakenXMM0},              // movaps xmm1, xmm0
		{"0f57c0 f20f1145f8 c3", 0},                     // xorps xmm0, xmm0
		{"f2480f2ac0 f20f1145f8 c3", 0},                 // cvtsi2sd xmm0, rax: a part of xmm0 stays
		{"0f14c1 0f1345f8 c3", TakenXMM0 | TakenXMM1},   // unpcklps xmm0, xmm1
		{"488b00 c3", TakenRAX},                         // mov rax, [rax]
		{"48c1e820 c3", TakenRAX},                       // shr rax, 32
		{"886500 c3", 0},                                // mov [rbp], ah
		{"c5fb1145f8 c3", 0},                            // with VEX: not looked at
	} {
		var b []byte
		for _, part := range c.code {
			if part != ' ' {
				b = append(b, byte(part))
			}
		}
		code, err := hex.DecodeString(string(b))
		if err != nil {
			t.Fatal(err)
		}
		n := &neighbour{code: Code{Lo: 0x1000, Hi: 0x1000 + uint64(len(code)), Bytes: code}}
		if got := n.taken(0x1000, results); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.code, got, c.want)
		}
	}
}
