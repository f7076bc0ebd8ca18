package test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSharedCode: code that a program has mapped shared is refused. A jump there would be written to the file, and other
// processes would execute it.
func TestSharedCode(t *testing.T) {
	prog := compile(t, "gcc", "sharedcode.c", "-g", "-O1")
	lib := compile(t, "gcc", "sharedlib.c", "-g", "-O1", "-shared", "-fPIC")
	before, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	offset := symbolIn(t, lib, "shared_code")
	for _, kind := range []string{"read", "write", "writable"} {
		cmd := exec.Command(prog, lib, fmt.Sprint(offset), kind)
		in, feed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = in
		x := startCmd(t, cmd)
		_ = in.Close()
		t.Cleanup(func() { _ = feed.Close() })
		waitFor(t, "the program", func() bool { return strings.Contains(x.Out.String(), "ready") })
		r := start(t, jalonArgs("trace", "-p", fmt.Sprint(x.Cmd.Process.Pid), "-d", "100ms", "uprobe:"+lib+":shared_code")...).wait()
		if r.status == 0 || !strings.Contains(r.stderr, "is mapped shared (MAP_SHARED)") {
			t.Errorf("%s: status %d: %s", kind, r.status, r.stderr)
		}
		if after, err := os.ReadFile(lib); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("%s: the file has changed: %v", kind, err)
		}
		_ = feed.Close()
		if r := x.wait(); r.status != 0 || r.stdout != "ready\nright\n" {
			t.Errorf("%s: the program ended with status %d: %s", kind, r.status, r.stdout)
		}
	}
}

// symbolIn is the value of a symbol of a file.
func symbolIn(t *testing.T, file, name string) uint64 {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol %s", file, name)
	return 0
}
