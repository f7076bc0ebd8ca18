package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

func contents(t *testing.T, fs stub.FileSystem, path string) string {
	t.Helper()
	fd, err := fs.Open(path, rsp.OpenRead, 0)
	if err != nil {
		return err.Error()
	}
	defer func() {
		if err := fs.Close(fd); err != nil {
			t.Error(err)
		}
	}()
	var out []byte
	for {
		b := make([]byte, 3)
		n, err := fs.Pread(fd, b, int64(len(out)))
		if err != nil {
			return err.Error()
		}
		if n == 0 {
			return string(out)
		}
		out = append(out, b[:n]...)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	write(t, name, "contents")
	symlink(t, "file", filepath.Join(dir, "link"))
	table := newFileTable()
	fs := table.view(0, 0)
	if got := contents(t, fs, filepath.Join(dir, "link")); got != "contents" {
		t.Errorf("contents %q", got)
	}
	st, err := fs.Stat(filepath.Join(dir, "link"))
	if err != nil || st.Mode != 0o100640 || st.Size != 8 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := fs.Lstat(filepath.Join(dir, "link")); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Errorf("%+v, %v", st, err)
	}
	if to, err := fs.Readlink(filepath.Join(dir, "link")); err != nil || to != "file" {
		t.Errorf("%q, %v", to, err)
	}
	// /proc is read, too: files of size 0, and links that are no paths.
	comm := fmt.Sprintf("/proc/%d/comm", os.Getpid())
	want, err := os.ReadFile(comm)
	if got := contents(t, fs, comm); err != nil || got != string(want) {
		t.Errorf("contents %q, want %q, %v", got, want, err)
	}
	if to, err := fs.Readlink("/proc/self/exe"); err != nil || !strings.HasPrefix(to, "/") {
		t.Errorf("%q, %v", to, err)
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	write(t, name, "x")
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	table := newFileTable()
	defer table.CloseAll()
	fs := table.view(0, 0)
	directory, err := fs.Open(dir, rsp.OpenRead, 0)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := fs.Open(fifo, rsp.OpenRead, 0) // it has no writer: must not block
	if err != nil {
		t.Fatal(err)
	}
	errorOf := func(_ any, err error) error { return err }
	for i, c := range []struct {
		got  error
		want unix.Errno
	}{
		{errorOf(fs.Open(filepath.Join(dir, "none"), rsp.OpenRead, 0)), unix.ENOENT},
		{errorOf(fs.Open(filepath.Join(name, "x"), rsp.OpenRead, 0)), unix.ENOTDIR},
		{errorOf(fs.Open("", rsp.OpenRead, 0)), unix.ENOENT},
		{errorOf(fs.Open("a\x00b", rsp.OpenRead, 0)), unix.EINVAL},
		{errorOf(fs.Open(name, 3, 0)), unix.EINVAL},
		{errorOf(fs.Open(name, 0x10, 0)), unix.EINVAL},
		{errorOf(fs.Open(name, rsp.OpenWrite, 0)), unix.EROFS},
		{errorOf(fs.Open(name, rsp.OpenRead|rsp.OpenTruncate, 0)), unix.EROFS},
		{errorOf(fs.Pread(directory, make([]byte, 1), 0)), unix.EISDIR},
		{errorOf(fs.Pread(pipe, make([]byte, 1), 0)), unix.ESPIPE},
		{errorOf(fs.Pread(directory, make([]byte, 1), -1)), unix.EINVAL},
		{errorOf(fs.Pread(77, nil, 0)), unix.EBADF},
		{errorOf(fs.Pwrite(77, nil, 0)), unix.EBADF},
		{errorOf(fs.Pwrite(pipe, []byte{1}, 0)), unix.ESPIPE},
		{errorOf(fs.Fstat(-1)), unix.EBADF},
		{errorOf(fs.Stat(filepath.Join(dir, "none"))), unix.ENOENT},
		{errorOf(fs.Readlink(name)), unix.EINVAL},
		{errorOf(fs.Readlink(filepath.Join(dir, "none"))), unix.ENOENT},
		{fs.Close(77), unix.EBADF},
		{fs.Unlink(name), unix.EROFS},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("case %d: %v, want %v", i, c.got, c.want)
		}
	}
	if got := contents(t, fs, name); got != "x" {
		t.Errorf("the file was changed: %q", got)
	}
}

func TestWritableFiles(t *testing.T) {
	table := newFileTable()
	table.writable = true
	fs := table.view(0, 0)
	name := filepath.Join(t.TempDir(), "new")
	fd, err := fs.Open(name, rsp.OpenWrite|rsp.OpenCreate|rsp.OpenExclusive, 0o100600)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := fs.Pwrite(fd, []byte("text"), 2); n != 4 || err != nil {
		t.Error(n, err)
	}
	if st, err := fs.Fstat(fd); err != nil || st.Size != 6 || st.Mode != 0o100600 {
		t.Errorf("%+v, %v", st, err)
	}
	if got := contents(t, fs, name); got != "\x00\x00text" {
		t.Errorf("contents %q", got)
	}
	if err := fs.Unlink(name); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(name); !os.IsNotExist(err) {
		t.Error("the file is still there")
	}
	table.CloseAll()
}

// Open files have a bound, numbers that are used again, and an end.
func TestFileNumbers(t *testing.T) {
	before := openDescriptors(t)
	table := newFileTable()
	fs, other := table.view(0, 0), table.view(os.Getpid(), 0)
	for i := range maxFiles {
		if fd, err := fs.Open("/dev/null", rsp.OpenRead, 0); fd != i || err != nil {
			t.Fatalf("file %d: %d, %v", i, fd, err)
		}
	}
	if _, err := fs.Open("/dev/null", rsp.OpenRead, 0); err != unix.EMFILE {
		t.Error(err)
	}
	// A file is closed in whichever view.
	if err := other.Close(5); err != nil {
		t.Error(err)
	}
	if fd, err := other.Open("/dev/null", rsp.OpenRead, 0); fd != 5 || err != nil {
		t.Error(fd, err)
	}
	table.CloseAll()
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Paths of a process with another root stay in it, whatever links say.
func TestOtherRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("chroot(2) is for root")
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(compile(t, "stand.c", "-static"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "stand"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "outside")
	write(t, filepath.Join(root, "file"), "inside")
	symlink(t, "/file", filepath.Join(root, "absolute"))
	symlink(t, "../../../../../file", filepath.Join(root, "dir", "up"))
	symlink(t, secret, filepath.Join(root, "out"))
	c := runningIn(t, root, "/stand", nil)
	table := newFileTable()
	table.writable = true
	fs := table.view(c.pid, c.pid)
	for path, want := range map[string]string{
		"/file": "inside", "file": "inside", "/absolute": "inside", "/dir/up": "inside", "/../file": "inside",
		"/out": unix.ENOENT.Error(), secret: unix.ENOENT.Error(), "/.." + secret: unix.ENOENT.Error(),
	} {
		if got := contents(t, fs, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if to, err := fs.Readlink("/out"); err != nil || to != secret {
		t.Errorf("%q, %v", to, err)
	}
	if st, err := fs.Stat("/absolute"); err != nil || st.Size != 6 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := fs.Unlink("/absolute"); err != nil {
		t.Error(err)
	}
	if got := contents(t, fs, "/absolute"); got != unix.ENOENT.Error() {
		t.Errorf("%q after unlink", got)
	}
	if err := fs.Unlink(secret); err != unix.ENOENT {
		t.Error(err)
	}
	if _, err := table.view(1<<30, 1<<30).Stat("/"); err != unix.ENOENT {
		t.Errorf("no such process: %v", err)
	}
}

// The status of files is what gdbserver says.
func TestStatAgainstGdbserver(t *testing.T) {
	c := running(t, compile(t, "stand.c"), nil)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "12345")
	fs := newFileTable().view(c.pid, c.pid)
	server := gdbserver(t, c.pid)
	for _, name := range []string{dir, filepath.Join(dir, "file"), "/dev/null"} {
		fd, ok := strings.CutPrefix(server.ask(fmt.Sprintf("vFile:open:%x,0,0", name)), "F")
		if !ok {
			t.Fatalf("gdbserver does not open %s: %q", name, fd)
		}
		_, want, ok := strings.Cut(server.ask("vFile:fstat:"+fd), ";")
		if !ok {
			t.Fatalf("no status of %s from gdbserver", name)
		}
		st, err := fs.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(st.Encode()); got != want {
			t.Errorf("%s:\n%x\ngdbserver says\n%x", name, got, want)
		}
	}
}

// TestLimitedFiles: files are opened, created and removed with the rights of the process,
// not with those of root, and jalon has its own rights afterwards.
func TestLimitedFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it takes the rights of another user")
	}
	const otherUser = 65534
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret, own := filepath.Join(dir, "secret"), filepath.Join(dir, "own")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(own, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(own, otherUser, otherUser); err != nil {
		t.Fatal(err)
	}
	table := newFileTable()
	table.writable = true
	defer table.CloseAll()
	fs := table.view(0, cmd.Process.Pid)
	const create = rsp.OpenWrite | rsp.OpenCreate
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"reading root's file", second(fs.Open(secret, rsp.OpenRead, 0)), unix.EACCES},
		{"truncating root's file", second(fs.Open(secret, rsp.OpenWrite|rsp.OpenTruncate, 0)), unix.EACCES},
		{"creating in root's directory", second(fs.Open(filepath.Join(dir, "new"), create, 0o666)), unix.EACCES},
		{"removing root's file", fs.Unlink(secret), unix.EACCES},
		{"creating in its own directory", second(fs.Open(filepath.Join(own, "new"), create, 0o666)), nil},
		{"root itself", second(table.view(0, 0).Open(secret, rsp.OpenRead, 0)), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, not %v", c.what, c.err, c.want)
		}
	}
	if st, err := os.Stat(filepath.Join(own, "new")); err != nil || st.Sys().(*syscall.Stat_t).Uid != otherUser {
		t.Errorf("the new file: %v %v", st, err)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("root's file: %q %v", b, err)
	}
}

func second[T any](_ T, err error) error { return err }
