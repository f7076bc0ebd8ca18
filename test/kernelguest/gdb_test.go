package kernelguest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestGuest_GDB serves the guest's kernel to the GDB of the host, while a program
// does known system calls over and over.
func TestGuest_GDB(t *testing.T) {
	tty := rawLine(t)
	syms, err := kallsyms.Open()
	if err != nil {
		t.Fatal(err)
	}
	addr, ok := syms.Addr("vfs_read")
	if !ok {
		t.Fatal("the kernel has no vfs_read")
	}
	args := []string{"gdbserver", "--once", "--kernel"}
	if _, err := os.Stat(vmlinux); err == nil {
		args = append(args, "--vmlinux="+vmlinux)
	}
	server := exec.CommandContext(t.Context(), jalon, append(args, "-")...)
	server.Stdin, server.Stdout, server.Stderr = tty, tty, os.Stderr
	if _, err := fmt.Fprintf(tty, "ready %#x\n", addr); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if out, err := exec.CommandContext(t.Context(), calls, "reads").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// rawLine is the guest's end of the line to the host, which passes bytes on as they are.
func rawLine(t *testing.T) *os.File {
	t.Helper()
	tty, err := os.OpenFile(vmtest.Serial, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	raw, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	raw.Iflag, raw.Oflag, raw.Lflag = 0, 0, 0
	raw.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, raw); err != nil {
		t.Fatal(err)
	}
	return tty
}

// gdbOfHost boots a guest that serves its kernel and runs a script in GDB, in which %ADDR% is the address
// of vfs_read. It returns GDB's output.
func gdbOfHost(t *testing.T, cfg vmtest.Config, script string, args ...string) string {
	t.Helper()
	gdb, err := exec.LookPath(processor.gdb)
	if err != nil {
		t.Skip("there is no " + processor.gdb)
	}
	dir := t.TempDir()
	cfg.Run, cfg.Line = "^TestGuest_GDB$", filepath.Join(dir, "line")
	text := make(chan string, 1)
	go func() {
		out, err := talk(t, gdb, dir, cfg.Line, script, args)
		if err != nil {
			out = fmt.Sprintf("%v\n%s", err, out)
		}
		text <- out
	}()
	vmtest.Run(t, cfg)
	out := <-text
	t.Log(out) // shown where something is wrong, and with -v
	return out
}

// talk waits until the guest is ready, and runs GDB with its line.
func talk(t *testing.T, gdb, dir, path, script string, args []string) (string, error) {
	guest, err := dial(t, path)
	if err != nil {
		return "", err
	}
	defer guest.Close()
	in := bufio.NewReader(guest)
	hello, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	addr, ok := strings.CutPrefix(strings.TrimSpace(hello), "ready ")
	if !ok {
		return "", fmt.Errorf("the guest says %q", hello)
	}
	proxy := filepath.Join(dir, "gdb")
	l, err := net.Listen("unix", proxy)
	if err != nil {
		return "", err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(guest, c) }()
		_, _ = io.Copy(c, in)
		_ = c.Close() // the guest has ended
	}()
	file := filepath.Join(dir, "script")
	script = "set pagination off\nset confirm off\nset width 0\nset remotetimeout 100\ntarget remote " + proxy + "\n" +
		strings.ReplaceAll(script, "%ADDR%", addr) + "\nmonitor exit\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), gdb, append(args, "-nx", "-batch", "-x", file)...)
	testkit.SpareStaticTracepoints(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		// The guest waits for a connection of GDB, which is now the command to end.
		_, _ = guest.Write([]byte("+$qRcmd,65786974#d7"))
	}
	return string(out), err
}

// dial connects to QEMU as soon as it listens.
func dial(t *testing.T, path string) (net.Conn, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.Dial("unix", path); err == nil {
			return c, nil
		}
		select {
		case <-t.Context().Done():
			return nil, t.Context().Err()
		case <-tick.C:
		}
	}
}

// Without the kernel's debug information: a kprobe by address, registers, memory.
func TestGDB(t *testing.T) {
	const series = "6.12"
	out := gdbOfHost(t, vmtest.Config{Kernel: series, Files: files(t), Memory: 1024}, strings.NewReplacer("%COUNT%", processor.count, "%BUF%", processor.buf).Replace(`
info threads
monitor memory
tvariable $hits = 100
trace *%ADDR% if %COUNT% == 5000 || %COUNT% == 4097
actions
collect $regs, *(char *)%BUF%@4, $hits
teval $hits = $hits + 1
end
passcount 4
tstart
`+testkit.UntilStopped+`
tstatus
tfind 0
print %COUNT%
print $pc == %ADDR%
print *(char *)%BUF%@4
tfind 1
print %COUNT%
tfind 2
print %COUNT%
tfind none
print $hits
x/s $pc
info tracepoints
`))
	// Hits after the last pass make no frames, but are counted until the run ends.
	testkit.InOrder(t, out, `Linux 6\.12`, `from /proc/kcore`, `Trace stopped by tracepoint 1`, `Collected 4 trace frames`,
		`\$\d+ = 4097`, `\$\d+ = 1\n`, `"xxxx"`, `\$\d+ = 5000`, `\$\d+ = 4097`, `\$\d+ = (10[4-9]|1[1-9]\d|[2-9]\d\d|\d{4,})$`, `already hit 4 times`)
}

// With debug information: names, types and lines, although the kernel is not at the address in its file;
// arguments by name at a static tracepoint.
func TestVmlinuxGDB(t *testing.T) {
	image, kernel := vmtest.Vmlinux(t)
	small := filepath.Join(t.TempDir(), "vmlinux")
	if out, err := exec.CommandContext(t.Context(), "objcopy", "--wildcard", "--remove-section=.rela.*", image, small).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, out)
	}
	f := files(t)
	f[vmlinux] = vmtest.File{Host: small}
	out := gdbOfHost(t, vmtest.Config{Kernel: kernel, Files: f, Memory: 2048}, `
info symbol %ADDR%
info symbol $pc
monitor offset
print init_task.comm
trace vfs_read if count == 5000
actions
collect $args, $locals, $regs, file->f_path.dentry->d_name.name[0]@9
end
passcount 2
tstart
`+testkit.UntilStopped+`
tfind 0
info args
print count
print file->f_path.dentry->d_name.name[0]@9
tfind none
delete
strace *__traceiter_sched_switch if next->prio < 200
actions
collect $_sdata, prev->comm, next->pid, next->comm, preempt
end
passcount 3
tstart
`+testkit.UntilStopped+`
tstatus
tfind 0
print $_sdata
print next->comm
print prev->comm
print preempt
info symbol $pc
tdump
tfind none
`, small)
	testkit.InOrder(t, out, `vfs_read in section \.text`, `startup_64 in section \.text`, `0x[0-9a-f]+`, `swapper`,
		`Tracepoint 1 at 0x.*: file fs/read_write\.c`, `count = 5000`, `\$\d+ = 5000`, `"known\.bin"`,
		`Static tracepoint 2 at 0x.*`, `Found trace frame 0, tracepoint 2`, `\$\d+ = "sched_switch: prev_comm=.* ==> next_comm=.*"`,
		`__traceiter_sched_switch in section \.text`, `Data collected at tracepoint 2`)
}
