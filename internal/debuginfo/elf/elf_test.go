package elf

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const source = `
#include <stdio.h>
__thread int per_thread;
int table[3];
static int helper(int v) { return v * 2; }
__attribute__((noinline)) int twice(int v) { return helper(v) + table[0]; }
int main(int argc, char **argv) { printf("%d\n", twice(argc)); return per_thread; }
`

func compile(t testing.TB, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "a.c")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "a")
	command(t, "gcc", append(flags, "-g", "-O1", src, "-o", out)...)
	return out
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	b, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}

// TestSymbolsAgreeWithNm compares the function symbols and look-ups with nm.
func TestSymbolsAgreeWithNm(t *testing.T) {
	for _, flags := range [][]string{{}, {"-static"}, {"-no-pie"}} {
		path := compile(t, flags...)
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for _, l := range strings.Split(command(t, "nm", "-S", path), "\n") {
			p := strings.Fields(l)
			if len(p) != 4 || !strings.ContainsAny(p[2], "TtW") {
				continue
			}
			addr, _ := strconv.ParseUint(p[0], 16, 64)
			size, _ := strconv.ParseUint(p[1], 16, 64)
			name, _, _ := strings.Cut(p[3], "@")
			found := false
			for _, s := range f.Lookup(name) {
				found = found || s.Value == addr && f.IsFunc(s)
			}
			if !found {
				t.Errorf("%v: %s at %#x is not found", flags, name, addr)
			}
			s, end, ok := f.FuncAt(addr + size/2)
			if !ok || s.Value > addr+size/2 || end <= addr+size/2 {
				t.Errorf("%v: at %#x (%s): %+v until %#x", flags, addr+size/2, name, s, end)
			}
			n++
		}
		if n < 3 {
			t.Errorf("%v: only %d symbols", flags, n)
		}
		if _, ok := f.TLS(); !ok {
			t.Error("no TLS segment")
		}
		if s := f.Lookup("per_thread"); len(s) != 1 || !s[0].TLS || f.IsFunc(s[0]) {
			t.Errorf("per_thread: %+v", s)
		}
		if s, ok := f.DataAt(f.Lookup("table")[0].Value + 5); !ok || s.Name != "table" {
			t.Errorf("table: %+v", s)
		}
		m := f.Lookup("main")[0].Value
		if !f.IsCode(m) || f.IsCode(f.Lookup("table")[0].Value) || f.SectionAt(m) != ".text" {
			t.Error("code and data are confused")
		}
	}
}

// TestCompressedSections reads each kind of compression.
func TestCompressedSections(t *testing.T) {
	path := compile(t)
	plain, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, kind := range []string{"zlib", "zlib-gnu", "zlib-gabi", "zstd"} {
		out := path + "." + kind
		command(t, "objcopy", "--compress-debug-sections="+kind, path, out)
		f, err := Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if !f.HasDWARF() {
			t.Errorf("%s: no DWARF", kind)
		}
		f.Unpack([]string{".debug_info", ".debug_line", ".debug_nothing"})
		for _, s := range []string{".debug_info", ".debug_line", ".debug_str", ".debug_abbrev"} {
			want, _ := plain.Bytes(s)
			got, err := f.Bytes(s)
			if err != nil || !bytes.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s %s: %d bytes, want %d: %v", kind, s, len(got), len(want), err)
			}
		}
	}
}

func TestDamagedCompression(t *testing.T) {
	path := compile(t)
	out := path + ".z"
	command(t, "objcopy", "--compress-debug-sections=zlib", path, out)
	f, err := Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.sections[".debug_info"]
	b := bytes.Clone(f.Data())
	for i := s.Offset + 30; i < s.Offset+s.FileSize; i++ {
		b[i] = 0xee
	}
	g, err := New("damaged", b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Bytes(".debug_info"); err == nil || !strings.Contains(err.Error(), "decompressing section .debug_info") {
		t.Error(err)
	}
}

// TestBomb: sections that would decompress to many times their file are refused, one by one and together,
// and need little memory.
func TestBomb(t *testing.T) {
	const size = 64 << 20 // of each section; zlib packs zeros to a thousandth
	dir := t.TempDir()
	zeros, obj := filepath.Join(dir, "zeros"), filepath.Join(dir, "x.o")
	f, err := os.Create(zeros)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	f.Close()
	command(t, "gcc", "-c", "-x", "c", "-o", obj, "/dev/null")
	var args []string
	names := []string{".debug_a", ".debug_b", ".debug_c"}
	for _, n := range names {
		args = append(args, "--add-section", n+"="+zeros)
	}
	command(t, "objcopy", append(args, obj)...)
	command(t, "objcopy", "--compress-debug-sections=zlib", obj)
	g, err := Open(obj)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var got uint64
	var refused error
	for _, n := range names {
		b, err := g.Bytes(n)
		got += uint64(len(b))
		refused = errors.Join(refused, err)
	}
	st, _ := os.Stat(obj)
	if limit := unpackFree + unpackRatio*uint64(st.Size()); got > limit {
		t.Errorf("%d bytes of a file of %d", got, st.Size())
	}
	if refused == nil || !strings.Contains(refused.Error(), "would take more than") {
		t.Errorf("not refused: %v (%d bytes of a file of %d)", refused, got, st.Size())
	}
	g.Close()

	// Many such files: each stays below its limit, all together do not.
	var files []*File
	beforeBytes, beforeUnpacked, some := all.bytes, all.unpacked, 0
	for range allFree/size + 4 {
		f, err := Open(obj)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		if b, _ := f.Bytes(names[0]); len(b) > 0 {
			some++
		}
	}
	if some == 0 || some > allFree/size {
		t.Errorf("%d of %d files were decompressed", some, len(files))
	}
	for _, f := range files {
		f.Close()
	}
	if all.bytes != beforeBytes || all.unpacked != beforeUnpacked {
		t.Errorf("after closing: %d and %d, before: %d and %d", all.bytes, all.unpacked, beforeBytes, beforeUnpacked)
	}
}

func TestLinks(t *testing.T) {
	path := compile(t, "-Wl,--build-id=0x0123456789abcdef")
	command(t, "objcopy", "--only-keep-debug", path, path+".debug")
	command(t, "objcopy", "--strip-debug", "--add-gnu-debuglink="+path+".debug", path)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.BuildID != "0123456789abcdef" {
		t.Error("build-id", f.BuildID)
	}
	if n, _, ok := f.DebugLink(); !ok || n != "a.debug" {
		t.Error("debug link", n, ok)
	}
	g, tried := Finder{DebugDirs: []string{t.TempDir()}}.Find(f)
	if g == nil {
		t.Fatal(tried)
	}
	g.Close()
	if g, tried := (Finder{DebugDirs: []string{t.TempDir()}, Root: "/nonexistent"}).Find(f); g == nil {
		t.Error("the file beside it does not depend on the root:", tried)
	} else {
		g.Close()
	}
	// In a directory that is named, by its name; only of this build.
	dir := t.TempDir()
	if err := os.Rename(path+".debug", filepath.Join(dir, filepath.Base(path)+".debug")); err != nil {
		t.Fatal(err)
	}
	if g, tried := (Finder{DebugDirs: []string{dir}}).Find(f); g == nil {
		t.Error(tried)
	} else {
		g.Close()
	}
	other := compile(t, "-Wl,--build-id=0xfedcba9876543210")
	if err := os.Rename(other, filepath.Join(dir, filepath.Base(path)+".debug")); err != nil {
		t.Fatal(err)
	}
	if g, tried := (Finder{DebugDirs: []string{dir}}).Find(f); g != nil || !strings.Contains(strings.Join(tried, "\n"), "its build-id differs") {
		t.Error("a file of another build:", tried)
	}
}

func FuzzNew(f *testing.F) {
	b, err := os.ReadFile(compile(f, "-nostartfiles", "-Wl,-emain"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(40), uint64(0xffffffff), uint32(len(b)))
	f.Fuzz(func(t *testing.T, off uint32, v uint64, n uint32) {
		d := bytes.Clone(b)
		for i := range 8 {
			d[(int(off)+i)%len(d)] = byte(v >> (8 * i))
		}
		e, err := New("x", d[:int(n)%(len(d)+1)])
		if err != nil {
			return
		}
		e.Lookup("main")
		e.FuncAt(v)
		e.NextFunc(v)
		e.DataAt(v)
		e.IsCode(v)
		e.EhFrameHdr()
		e.Interp()
		e.DebugLink()
		e.AltLink()
		e.Relative(0, ^uint64(0))
		for _, s := range e.Sections() {
			e.Bytes(s.Name)
		}
	})
}

// TestTLSBelow: glibc's _dl_determine_tlsoffset for the first module. Linkers other than
// GNU's may let a segment begin at an address that is not aligned as the segment is.
func TestTLSBelow(t *testing.T) {
	for _, tt := range []struct {
		segment TLS
		want    uint64
	}{
		{TLS{0x3d80, 0x44, 0x40}, 0x80},
		{TLS{0x3d84, 0x44, 0x40}, 0x7c},
		{TLS{0x3d84, 4, 4}, 4},
		{TLS{0x3d81, 5, 0}, 5},
		{TLS{0, 0, 16}, 0},
	} {
		align := max(tt.segment.Align, 1)
		first := -tt.segment.Vaddr & (align - 1)
		if glibc := (tt.segment.Memsz-first+align-1)/align*align + first; tt.segment.Memsz >= first && glibc != tt.want {
			t.Errorf("BUG in the test: %+v: glibc has %#x", tt.segment, glibc)
		}
		if got := tt.segment.Below(); got != tt.want {
			t.Errorf("%+v: %#x, want %#x", tt.segment, got, tt.want)
		}
	}
}
