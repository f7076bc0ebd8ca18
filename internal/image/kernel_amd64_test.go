package image

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
)

// slid is how far the kernel of the tests lies from the addresses in its file.
const slid = 0x1c400000

// core is a file that is linked like a kernel, and the symbols of a kernel that runs it,
// with a module and a program of eBPF.
type core struct {
	path, id string
	text     string            // as of /proc/kallsyms
	addr     map[string]uint64 // at run time
}

const (
	mapBlocks  = 0xffffffffc0a01000 // of the module ext4
	bpfProgram = 0xffffffffc0b00000
	moduleID   = "00112233"
)

func buildCore(t *testing.T) *core {
	t.Helper()
	c := &core{addr: map[string]uint64{}}
	c.path = compile(t, "core.c", "-O1", "-nostdlib", "-static", "-ffreestanding", "-fno-toplevel-reorder", "-mcmodel=kernel", "-fno-pic", "-no-pie",
		"-Wl,--build-id", "-Wl,-Ttext=0xffffffff81000000", "-Wl,-e,_stext")
	out, err := exec.Command("nm", "-n", c.path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var addr uint64
		var kind, name string
		if _, err := fmt.Sscanf(line, "%x %s %s", &addr, &kind, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.addr[name] = addr + slid
		c.text += fmt.Sprintf("%x %s %s\n", addr+slid, kind, name)
	}
	c.text += fmt.Sprintf("%x t map_blocks\t[ext4]\n%x t write_begin\t[ext4]\n%x t prog\t[bpf]\n", uint64(mapBlocks), uint64(mapBlocks+0x80), uint64(bpfProgram))
	m, err := OfFile(c.path, func(*dwarf.Module) uint64 { return 0 }, files(t))
	if err != nil {
		t.Fatal(err)
	}
	c.id = m.Info().BuildID()
	return c
}

// running is the image of the kernel that runs c; path is the file that is named.
func (c *core) running(t *testing.T, path, id string) *Kernel {
	notes := map[string]string{"": id, "ext4": moduleID}
	return newKernel(path, files(t), func() (*kallsyms.Table, error) { return kallsyms.Parse(strings.NewReader(c.text)) }, func(module string) []byte {
		b, err := hex.DecodeString(notes[module])
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{4, 0, 0, 0, byte(len(b)), 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}, b...)
	})
}

// addresses are some in the core, its module and its program, with their names.
func (c *core) addresses() map[uint64]string {
	return map[uint64]string{
		c.addr["read_some"] + 1: "read_some+0x1",
		c.addr["read_some"] + 4: "read_some+0x4",
		c.addr["main_loop"] + 5: "main_loop+0x5",
		c.addr["state"]:         "state",
		mapBlocks + 0x10:        "map_blocks+0x10 [ext4]",
		bpfProgram + 0x20:       "prog+0x20 [bpf]",
		mapBlocks + 0x5000:      "",
		0x401000:                "",
	}
}

// TestKernel: symbols of the kernel, of modules and of programs; lines and inlined
// functions where the file is at hand, wherever the kernel lies.
func TestKernel(t *testing.T) {
	c := buildCore(t)
	for _, path := range []string{"", c.path} {
		k := c.running(t, path, c.id)
		for addr, want := range c.addresses() {
			if got := k.Symbol(addr); got != want {
				t.Errorf("%#x is called %q, want %q", addr, got, want)
			}
		}
		if slide, err := k.Slide(); path != "" && (err != nil || slide != slid) {
			t.Errorf("the kernel lies %#x from its file, %v; want %#x", slide, err, slid)
		}
		wantFrames(t, k.Frames, c, path != "")
		if f := k.Frames(mapBlocks+0x80, true); len(f) != 1 || f[0].Function != "map_blocks" || f[0].Offset != 0x80 || f[0].Module != "ext4" {
			t.Errorf("the last call of a module's function: %+v", f)
		}
		if f := k.Frames(mapBlocks+0x5000, false); len(f) != 1 || f[0].PC != mapBlocks+0x5000 || f[0].Function != "" {
			t.Errorf("an address without a name: %+v", f)
		}
	}
	if _, err := c.running(t, "", c.id).File(); !errors.Is(err, ErrNoKernelFile) {
		t.Errorf("no file is named: %v", err)
	}
	if _, err := c.running(t, c.path, "aabbccdd").File(); err == nil || !strings.Contains(err.Error(), "is of another kernel") {
		t.Errorf("the file of another kernel: %v", err)
	}
	if f := c.running(t, c.path, "aabbccdd").Frames(c.addr["main_loop"]+5, false); len(f) != 1 || f[0].Function != "main_loop" || f[0].Line != 0 {
		t.Errorf("lines of another kernel's file are shown: %+v", f)
	}
	if slide, err := c.running(t, "", "").Slide(); err == nil {
		t.Errorf("a kernel without _text lies at %#x", slide)
	}
}

// wantFrames checks a frame in the inlined function note, found by its line.
func wantFrames(t *testing.T, frames func(uint64, bool) []debuginfo.Frame, c *core, lines bool) {
	t.Helper()
	if !lines {
		if f := frames(c.addr["read_some"]+4, false); len(f) != 1 || f[0].Function != "read_some" || f[0].Offset != 4 || f[0].File != "" {
			t.Errorf("without the file: %+v", f)
		}
		return
	}
	for pc := c.addr["read_some"]; pc < c.addr["main_loop"]; pc++ {
		f := frames(pc, false)
		if len(f) == 2 {
			if f[0].Function != "note" || !f[0].Inlined || f[0].Line != 8 || filepath.Base(f[0].File) != "core.c" || f[1].Function != "read_some" || f[1].Offset != pc-c.addr["read_some"] || f[1].Line != 13 || f[1].File != f[0].File {
				t.Errorf("the inlined function: %+v", f)
			}
			return
		}
	}
	t.Error("no frame has the inlined function")
}

// TestSavedKernel: addresses of the kernel that were saved are named without the kernel
// and without its file. With the file, found by its path or its build-id, other addresses
// have names too, and all have lines. A file with another build-id is not used.
func TestSavedKernel(t *testing.T) {
	c := buildCore(t)
	want := c.addresses()
	var addrs []uint64
	for addr := range want {
		addrs = append(addrs, addr)
	}
	list, err := c.running(t, "", c.id).Save(addrs)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[0].Kernel != Vmlinux || list[0].BuildID != c.id || list[1].Kernel != "bpf" || list[1].BuildID != "" || list[2].Kernel != "ext4" || list[2].BuildID != moduleID {
		t.Fatalf("saved: %+v", list)
	}

	bare := Restore(list, files(t))
	wantNames(t, bare, want)
	wantNames(t, bare, map[uint64]string{c.addr["_stext"]: "", mapBlocks + 0x80: "", bpfProgram + 0x1000: ""})
	wantFrames(t, bare.Frames, c, false)
	if f := bare.Frames(mapBlocks, true); len(f) != 1 || f[0].Function != "" {
		t.Errorf("no call before map_blocks was saved: %+v", f)
	}

	withFile := func(what string, list []Saved, opt dwarf.Options) {
		t.Helper()
		opt.NoCache = true
		f := NewFiles(opt)
		defer f.Close()
		im := Restore(list, f)
		wantNames(t, im, want)
		wantNames(t, im, map[uint64]string{c.addr["_stext"]: "_stext", c.addr["read_some"] + 5: "read_some+0x5", mapBlocks + 0x80: ""})
		wantFrames(t, im.Frames, c, true)
		if t.Failed() {
			t.Errorf("the file %s", what)
		}
	}
	named, err := c.running(t, c.path, c.id).Save(addrs)
	if err != nil {
		t.Fatal(err)
	}
	withFile("that was named", named, dwarf.Options{})

	dir := t.TempDir()
	debug := filepath.Join(dir, ".build-id", c.id[:2], c.id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(c.path, debug); err != nil {
		t.Fatal(err)
	}
	withFile("by its build-id", named, dwarf.Options{DebugDirs: []string{dir}})

	other := append([]Saved{}, named...)
	for _, id := range []string{"aabbccdd", "", "../../etc"} {
		other[0].BuildID, other[0].Path = id, debug
		wantNames(t, Restore(other, files(t)), map[uint64]string{c.addr["_stext"]: "", c.addr["read_some"] + 7: "read_some+0x7"})
	}
	wantNames(t, Restore(nil, files(t)), map[uint64]string{c.addr["read_some"] + 7: ""})
}

// TestSavedBoth: one list has a process and the kernel.
func TestSavedBoth(t *testing.T) {
	c := buildCore(t)
	r, add, _, _, _, _ := again(t)
	kernel, err := c.running(t, "", c.id).Save([]uint64{c.addr["read_some"] + 2})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, Restore(append(kernel, r.image(t).Save()...), files(t)), map[uint64]string{add + 4: "add+4", c.addr["read_some"] + 7: "read_some+0x7"})
}

// TestRunningKernel: the kernel that runs the test names its addresses as its own table
// has them, and a saved list of it names them the same.
func TestRunningKernel(t *testing.T) {
	k := NewKernel("", files(t))
	table, err := k.Symbols()
	if errors.Is(err, kallsyms.ErrRestricted) {
		t.Skip("the kernel hides its addresses from this user")
	}
	if err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for i := 0; i < table.Len(); i += 997 {
		if s := table.Symbol(i); InKernel(s.Addr) {
			addrs = append(addrs, s.Addr, s.Addr+1, s.Addr+0x17)
		}
	}
	list, err := k.Save(addrs)
	if err != nil || list[0].BuildID != k.BuildID() || len(k.BuildID()) < 8 {
		t.Fatalf("build-id %q, %v", k.BuildID(), err)
	}
	im := Restore(list, files(t))
	for _, addr := range addrs {
		want := k.Symbol(addr)
		if got := im.Symbol(addr); got != want {
			t.Fatalf("%#x is called %q, and %q from the saved list", addr, want, got)
		}
		if got, want := im.Frames(addr, true), k.Frames(addr, true); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%#x has the frames %v, and %v from the saved list", addr, want, got)
		}
	}
}
