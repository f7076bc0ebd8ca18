package dwarf

import "testing"

func TestPops(t *testing.T) {
	const rest = "\x00\x00\x00\x00\x00\x00\x00\x00"
	for _, tt := range []struct {
		name, code string
		n          int64
		ok         bool
	}{
		{"pop rbp", "\x5d\xc3", 0, true},
		{"pop rbx, r12, rbp", "\x5b\x41\x5c\x5d\xc3", 16, true},
		{"lea (r8,rcx), rax; pop rbx; add r10, rax; pop r10; pop rbp", "\x49\x8d\x04\x08\x5b\x4c\x01\xd0\x41\x5a\x5d\xc3", 16, true},
		{"mov r14d, eax; mov eax, 5; xor eax, eax; pop rbp", "\x44\x89\xf0\xb8\x05\x00\x00\x00\x31\xc0\x5d\xc3", 0, true},
		{"mov 0x12345678(rdi,rax), rax; movzx 8(rsp), eax; pop rbp", "\x48\x8b\x84\x07\x78\x56\x34\x12\x0f\xb6\x44\x24\x08\x5d", 0, true},
		{"pop r13 is not rbp", "\x41\x5d\xc3", 0, false},
		{"pop rsp", "\x5c\x5d\xc3", 0, false},
		{"mov rbp, rsp", "\x48\x89\xec\x5d\xc3", 0, false},
		{"mov rsp, rbp", "\x48\x8b\xec\x5d\xc3", 0, false},
		{"lea -0x28(rbp), rsp", "\x48\x8d\x65\xd8\x5d\xc3", 0, false},
		{"mov 5, ebp", "\xbd\x05\x00\x00\x00\x5d\xc3", 0, false},
		{"mov eax, (rbx)", "\x89\x03\x5d\xc3", 0, false},
		{"call", "\xe8\x00\x00\x00\x00\x5d\xc3", 0, false},
		{"ret", "\xc3\x5d", 0, false},
		{"cut", "\x5b", 0, false},
	} {
		if n, ok := pops([]byte(tt.code + rest)); ok != tt.ok || ok && n != tt.n {
			t.Errorf("%s: %d %v, want %d %v", tt.name, n, ok, tt.n, tt.ok)
		}
	}
	for i := range 12 {
		pops([]byte("\x49\x8d\x04\x08\x5b\x4c\x01\xd0\x41\x5a\x5d\xc3")[:i]) // does not read behind the end
	}
}
