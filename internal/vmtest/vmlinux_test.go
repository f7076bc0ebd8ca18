package vmtest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"os"
	"testing"
)

const buildIDVar = "VMTEST_BUILD_ID"

// The kernel with DWARF and the one that boots are of the same build.
func TestVmlinuxBuildID(t *testing.T) {
	vmlinux, kernel := Vmlinux(t)
	f, err := elf.Open(vmlinux)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s := f.Section(".debug_info"); s == nil || s.Size < 50<<20 {
		t.Errorf("%s has no DWARF of a kernel's size", vmlinux)
	}
	notes := f.Section(".notes")
	if notes == nil {
		t.Fatalf("%s has no notes", vmlinux)
	}
	data, err := notes.Data()
	if err != nil {
		t.Fatal(err)
	}
	id := buildID(data)
	if id == "" {
		t.Fatal("no build-id")
	}
	t.Log("build-id", id)
	Run(t, Config{Kernel: kernel, Run: "^TestGuest_BuildID$", Env: []string{buildIDVar + "=" + id}})
}

func TestGuest_BuildID(t *testing.T) {
	data, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := buildID(data), os.Getenv(buildIDVar); got != want || got == "" {
		t.Errorf("the running kernel's build-id is %q, that of vmlinux %q", got, want)
	}
}

// buildID finds the note NT_GNU_BUILD_ID (elf(5): namesz, descsz, type, name and
// descriptor padded to four bytes).
func buildID(notes []byte) string {
	pad := func(n uint32) int { return int(n+3) &^ 3 }
	for len(notes) >= 12 {
		name, desc := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		kind := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[12:]
		if pad(name)+pad(desc) > len(notes) {
			return ""
		}
		if kind == 3 && bytes.Equal(notes[:name], []byte("GNU\x00")) {
			return hex.EncodeToString(notes[pad(name):][:desc])
		}
		notes = notes[pad(name)+pad(desc):]
	}
	return ""
}
