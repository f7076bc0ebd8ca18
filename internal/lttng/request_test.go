package lttng

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlagsOfRequest: the flags that LTTng has for the texts that the kernel makes, computed in C.
func TestFlagsOfRequest(t *testing.T) {
	want := map[string]int{
		"R": 4, "W": 1, "WS": 33, "RA": 12, "RM": 68, "D": 2, "DS": 34, "DE": 130, "FF": 1280, "FWFS": 1 | 512 | 32 | 1024, "WFSM": 1 | 512 | 32 | 64,
		"FWS": 1 | 32 | 1024, "N": 0, "NS": 32, "RASM": 4 | 8 | 32 | 64, "F": 256, "FRA": 4 | 8 | 1024, "WF": 513,
	}
	var c, out strings.Builder
	c.WriteString("#include <stdio.h>\n#include <string.h>\nint main(void) {\nstruct { char rwbs[10]; } a, *args = &a;\n")
	for text, flags := range want {
		fmt.Fprintf(&c, "memset(&a, 'S', sizeof a); strcpy(a.rwbs, %q); printf(\"%%d\\n\", %s);\n", text, flagsOfRequest)
		fmt.Fprintf(&out, "%d\n", flags)
	}
	c.WriteString("return 0; }\n")
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "flags.c"), filepath.Join(dir, "flags")
	if err := os.WriteFile(src, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command("gcc", "-w", "-o", prog, src).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	got, err := exec.Command(prog).Output()
	if err != nil || string(got) != out.String() {
		t.Errorf("%v: %q, want %q", err, got, out.String())
	}
}
