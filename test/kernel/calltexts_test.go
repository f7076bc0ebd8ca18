package kernel

import (
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestCallTexts: arguments of system calls are texts where the kernel reads a text, and addresses where there are bytes.
func TestCallTexts(t *testing.T) {
	testkit.Need(t, "/usr/bin/python3")
	const program = `import os, socket, struct
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0x41414141, 0x42424242))
old = os.umask(0o27)
os.umask(old)
os.access("/nowhere", os.R_OK)`
	out := jalon(t, "trace", "syscall:setsockopt", "syscall:umask", "syscall:access", "--", "/usr/bin/python3", "-c", program).Out.String()
	for _, want := range []string{"optval: 0x", "mask: 027", `"/nowhere"`, "R_OK"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "AAAA") {
		t.Errorf("bytes as text:\n%s", out)
	}
}
