package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/test/testkit"
)

func files(t *testing.T) *Files {
	f := NewFiles(dwarf.Options{NoCache: true})
	t.Cleanup(f.Close)
	return f
}

func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-g", "-O0", "-o", out, filepath.Join("testdata", source)}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return out
}

// running is a program that has printed a line and waits for its input to end.
type running struct {
	pid  int
	line string
	stop func()
}

func start(t *testing.T, path string, env ...string) *running {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), env...)
	p := testkit.StartTold(t, cmd).AwaitOut("\n")
	return &running{p.Pid(), p.Out.String(), p.Kill}
}

func (r *running) image(t *testing.T) *Image {
	t.Helper()
	im, err := OfProcess(r.pid, files(t))
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// again starts testdata/again.c: the addresses of a function, of the same function in
// a second mapping, of two variables, and one in a view of the file.
func again(t *testing.T) (r *running, add, second, counter, zeroed, view uint64) {
	t.Helper()
	r = start(t, compile(t, "again.c"))
	if _, err := fmt.Sscanf(r.line, "%v %v %v %v %v", &add, &second, &counter, &zeroed, &view); err != nil {
		t.Fatalf("%q: %v", r.line, err)
	}
	return r, add, second, counter, zeroed, view
}

func wantNames(t *testing.T, im *Image, want map[uint64]string) {
	t.Helper()
	for addr, name := range want {
		if got := im.Symbol(addr); got != name {
			t.Errorf("%#x is called %q, want %q", addr, got, name)
		}
	}
}

// TestNames: code is named wherever it is mapped, data only where it is mapped as data.
func TestNames(t *testing.T) {
	r, add, second, counter, zeroed, view := again(t)
	im := r.image(t)
	wantNames(t, im, map[uint64]string{
		add: "add", add + 4: "add+4", second + 4: "add+4", counter: "counter", zeroed: "zeroed+40000", view: "", 16: "",
	})
	f := im.Frames(second+5, true)
	if len(f) != 1 || f[0].Function != "add" || f[0].Offset != 5 || f[0].Line != 13 || f[0].Module != im.Modules()[0].Path {
		t.Errorf("frames of the second mapping: %+v", f)
	}
	if !im.IsCode(second) || im.IsCode(counter) {
		t.Error("IsCode")
	}
	if m := im.Owner(view); m == nil || m.Path != im.Modules()[0].Path {
		t.Errorf("the view of the file belongs to %v", m)
	}
}

// TestSaved: addresses are named by a list of modules after the process is gone, the
// same as while it ran; not by a file that has another content meanwhile.
func TestSaved(t *testing.T) {
	r, add, second, counter, zeroed, view := again(t)
	im := r.image(t)
	list, path := im.Save(), im.Modules()[0].Path
	r.stop()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", r.pid)); err == nil {
		t.Fatal("the process is still there")
	}
	want := map[uint64]string{add: "add", add + 4: "add+4", second + 4: "add+4", counter: "counter", zeroed: "zeroed+40000", view: "", 16: ""}
	wantNames(t, Restore(list, files(t)), want)
	for _, s := range list {
		if s.BuildID == "" || s.Start >= s.End {
			t.Errorf("%+v", s)
		}
	}

	// A list that has code only, as other tools record it.
	var code []Saved
	for _, s := range list {
		if s.Prot == rx {
			s.Prot = 0
			code = append(code, s)
		}
	}
	wantNames(t, Restore(code, files(t)), map[uint64]string{add + 4: "add+4", second + 4: "add+4"})

	// Without a build-id the content itself is compared.
	plain := compile(t, "again.c", "-Wl,--build-id=none")
	m, err := OfFile(plain, func(*dwarf.Module) uint64 { return 0 }, files(t))
	if err != nil {
		t.Fatal(err)
	}
	id := contentID(m.Info())
	if !strings.HasPrefix(id, "sha256:") {
		t.Errorf("identity %q", id)
	}
	again := Saved{Path: plain, BuildID: id, Start: 0x10000, End: 0x20000}
	if err := Restore([]Saved{again}, files(t)).Modules()[0].Open(); err != nil {
		t.Error(err)
	}

	if err := os.Rename(plain, path); err != nil {
		t.Fatal(err)
	}
	replaced := Restore(list, files(t))
	wantNames(t, replaced, map[uint64]string{add: "", counter: ""})
	if err := replaced.Modules()[0].Open(); err == nil || !strings.Contains(err.Error(), "another content than when it was recorded") {
		t.Error(err)
	}
	if f := replaced.Frames(add, false); len(f) != 1 || f[0].Module != path || f[0].Function != "" {
		t.Errorf("%+v", f)
	}
}

// TestReplacedFile: the file of a running program is found after an upgrade, and the new
// file at its path is not taken for it.
func TestReplacedFile(t *testing.T) {
	r, add, _, counter, _, _ := again(t)
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", r.pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(compile(t, "again.c", "-O2"), path); err != nil {
		t.Fatal(err)
	}
	im := r.image(t)
	m := im.Modules()[0]
	if m.Path != path || !m.Maps[0].Deleted || !m.Proven() || m.File() == path {
		t.Errorf("%+v", m)
	}
	wantNames(t, im, map[uint64]string{add + 4: "add+4", counter: "counter"})
}

// TestUpdate: a module that is mapped where it was keeps its data; names are dropped when modules change.
func TestUpdate(t *testing.T) {
	r, add, _, _, _, _ := again(t)
	im := r.image(t)
	wantNames(t, im, map[uint64]string{add: "add"})
	m := im.Modules()[0]
	maps := append(m.Maps[:0:0], m.Maps...)
	im.Update(maps)
	if im.Modules()[0] != m || m.Info() == nil {
		t.Error("the module was made anew")
	}
	moved := append(maps[:0:0], maps...)
	for i := range moved {
		moved[i].Start += 1 << 32
		moved[i].End += 1 << 32
	}
	im.Update(moved)
	wantNames(t, im, map[uint64]string{add: "", add + 1<<32: "add"})
}

// TestFilesOfMemory: files in /dev/shm are files, those beside it are devices; a memfd is one where it is mapped private, as
// programs and libraries are.
func TestFilesOfMemory(t *testing.T) {
	var maps []procdir.Mapping
	for i, path := range []string{"/dev/shm/prog", "/dev/zero", "/memfd:x", "/dev/shm/lib.so", "/memfd:prog"} {
		at := uint64(i+1) << 20
		maps = append(maps, procdir.Mapping{
			Start: at, End: at + 4096, Prot: unix.PROT_READ | unix.PROT_EXEC, Path: path, Inode: uint64(i + 1), Shared: path == "/memfd:x",
		})
	}
	var got []string
	for _, m := range modules(os.Getpid(), maps) {
		got = append(got, m.Path)
	}
	if want := []string{"/dev/shm/prog", "/dev/shm/lib.so", "/memfd:prog"}; !slices.Equal(got, want) {
		t.Errorf("modules %q, want %q", got, want)
	}
}
