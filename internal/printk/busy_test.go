package printk

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// busyEnv makes the test program the process that is traced: it does many kinds
// of things in the directory that the variable names, once its input ends.
const busyEnv = "JALON_PRINTK_BUSY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(busyEnv); dir != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		busy(dir)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// busy causes events; it ignores errors of the kernel.
func busy(dir string) {
	for _, f := range []func(string){files, memory, sockets, signalsAndTimers, processes, waiting, networks, odds} {
		f(dir)
	}
}

func files(dir string) {
	name := filepath.Join(dir, "file")
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT, 0o644)
	if err != nil {
		return
	}
	buf := make([]byte, 300000)
	_, _ = unix.Write(fd, buf)
	_, _ = unix.Pwrite(fd, buf, 1<<20)
	_ = unix.Fallocate(fd, 0, 0, 1<<21)
	_ = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4096, 8192)
	_ = unix.Fsync(fd)
	_ = unix.Fdatasync(fd)
	_ = unix.SyncFileRange(fd, 0, 4096, unix.SYNC_FILE_RANGE_WRITE)
	_ = unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
	_, _ = unix.Pread(fd, buf, 0)
	_ = unix.Flock(fd, unix.LOCK_EX)
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 10}
	_ = unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock)
	lock.Type = unix.F_UNLCK
	_ = unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock)
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	_ = unix.Setxattr(name, "user.x", []byte("value"), 0)
	_ = unix.Ftruncate(fd, 1000)
	_ = unix.Fchmod(fd, 0o600)
	_ = unix.Utimes(name, []unix.Timeval{{Sec: 1}, {Sec: 2}})
	if m, err := unix.Mmap(fd, 0, 1000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		m[10] = 1
		_ = unix.Msync(m, unix.MS_SYNC)
		_ = unix.Munmap(m)
	}
	if d, err := unix.Open(name, unix.O_RDWR|unix.O_DIRECT, 0); err == nil {
		_, _ = unix.Pread(d, buf[:4096], 0)
		_ = unix.Close(d)
	}
	_ = unix.Close(fd)
	_ = os.Symlink(name, name+".link")
	_ = os.Link(name, name+".hard")
	_ = os.Rename(name+".hard", name+".new")
	_ = os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	_, _ = os.ReadDir(dir)
	_, _ = os.ReadFile("/proc/self/maps")
	_, _ = os.ReadFile("/proc/self/status")
	_ = os.Remove(name + ".link")
	_ = os.Remove(name + ".new")
	_ = os.Remove(filepath.Join(dir, "sub"))
	_ = os.Remove(name)
	unix.Sync()
}

func memory(string) {
	const size = 8 << 20
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE)
	for i := 0; i < size; i += 4096 {
		m[i] = 1
	}
	_ = unix.Madvise(m[:size/2], unix.MADV_COLD)
	_ = unix.Madvise(m[:size/2], unix.MADV_PAGEOUT)
	_ = unix.Madvise(m[:size/2], unix.MADV_DONTNEED)
	_ = unix.Mprotect(m[:4096], unix.PROT_READ)
	_ = unix.Mlock(m[4096:8192])
	if m, err = unix.Mremap(m, 2*size, unix.MREMAP_MAYMOVE); err == nil {
		_ = unix.Munmap(m)
	}
	if fd, err := unix.MemfdCreate("jalon", 0); err == nil {
		_, _ = unix.Write(fd, make([]byte, 100000))
		_ = unix.Close(fd)
	}
	runtime.GC()
}

func sockets(dir string) {
	for _, l := range []struct{ network, addr string }{
		{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"unix", filepath.Join(dir, "sock")},
	} {
		ln, err := net.Listen(l.network, l.addr)
		if err != nil {
			continue
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if c, err := ln.Accept(); err == nil {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}
		}()
		if c, err := net.Dial(l.network, ln.Addr().String()); err == nil {
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			for range 20 {
				_, _ = c.Write(make([]byte, 5000))
				_, _ = io.ReadFull(c, make([]byte, 5000))
			}
			_ = c.Close()
			<-done
		}
		_ = ln.Close()
		// There is no listener any more.
		if c, err := net.Dial(l.network, ln.Addr().String()); err == nil {
			_ = c.Close()
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		u, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		// Where the loopback is down nothing comes.
		_ = u.SetDeadline(time.Now().Add(time.Second))
		_, _ = u.WriteTo([]byte("hello"), u.LocalAddr())
		_, _, _ = u.ReadFrom(make([]byte, 10))
		_ = u.Close()
		// To an unused port, for an ICMP error message.
		if c, err := net.Dial("udp", u.LocalAddr().String()); err == nil {
			_, _ = c.Write([]byte("hello"))
			_, _ = c.Write([]byte("again"))
			_ = c.Close()
		}
	}
	_, _ = net.Interfaces()
	if pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 4096)
		_, _ = unix.Write(pair[0], []byte("x"))
		_, _ = unix.Read(pair[1], make([]byte, 1))
		_ = unix.Close(pair[0])
		_ = unix.Close(pair[1])
	}
}

func signalsAndTimers(string) {
	got := make(chan os.Signal, 10)
	signal.Notify(got, unix.SIGUSR1, unix.SIGALRM)
	_ = unix.Kill(os.Getpid(), unix.SIGUSR1)
	<-got
	_, _ = unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.Timeval{Usec: 1000}})
	<-got
	signal.Stop(got)
	if fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, 0); err == nil {
		_ = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 500000}}, nil)
		_, _ = unix.Read(fd, make([]byte, 8))
		_ = unix.Close(fd)
	}
	ts := unix.Timespec{Nsec: 200000}
	_ = unix.Nanosleep(&ts, nil)
	_ = unix.ClockNanosleep(unix.CLOCK_REALTIME, 0, &ts, nil)
	<-time.After(2 * time.Millisecond)
}

func processes(dir string) {
	_ = exec.Command("/bin/true").Run()
	_ = exec.Command("/bin/sh", "-c", "echo hello | cat >/dev/null; kill -SEGV $$").Run()
	_ = exec.Command(filepath.Join(dir, "nothing")).Run()
	c := exec.Command("/bin/sleep", "100")
	if c.Start() == nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, c.Process.Pid, 5)
		var set unix.CPUSet
		if unix.SchedGetaffinity(c.Process.Pid, &set) == nil {
			_ = unix.SchedSetaffinity(c.Process.Pid, &set)
			one := unix.CPUSet{}
			one.Set(0)
			_ = unix.SchedSetaffinity(c.Process.Pid, &one)
		}
		_ = c.Process.Signal(unix.SIGSTOP)
		_ = c.Process.Signal(unix.SIGCONT)
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&[]byte("busy one\x00")[0])), 0, 0, 0)
	_, _ = unix.PidfdOpen(os.Getpid(), 0)
}

func waiting(string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	pipe := make([]int, 2)
	if unix.Pipe2(pipe, 0) != nil {
		return
	}
	for range 4 {
		wg.Go(func() {
			runtime.LockOSThread()
			for range 20 {
				mu.Lock()
				_, _ = unix.Write(pipe[1], []byte("x"))
				_, _ = unix.Read(pipe[0], make([]byte, 1))
				mu.Unlock()
				_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			}
		})
	}
	wg.Wait()
	if ep, err := unix.EpollCreate1(0); err == nil {
		_ = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, pipe[0], &unix.EpollEvent{Events: unix.EPOLLIN})
		_, _ = unix.EpollWait(ep, make([]unix.EpollEvent, 1), 1)
		_ = unix.Close(ep)
	}
	if fd, err := unix.Eventfd(1, 0); err == nil {
		_, _ = unix.Read(fd, make([]byte, 8))
		_ = unix.Close(fd)
	}
	_ = unix.Close(pipe[0])
	_ = unix.Close(pipe[1])
	end := time.Now().Add(20 * time.Millisecond)
	for n := 0; time.Now().Before(end); n++ {
		_ = fmt.Sprint(n)
	}
}

// networks makes devices, addresses and queues in a separate network namespace, and sockets of rarer
// families.
func networks(string) {
	c := exec.Command("/bin/sh", "-c", `
		ip link set lo up
		ip link add v0 type veth peer name v1
		ip link add br0 type bridge mcast_querier 1
		ip link set v0 master br0
		ip addr add 10.77.0.1/24 dev br0
		ip link set br0 up; ip link set v0 up; ip link set v1 up
		bridge fdb add 02:00:00:00:00:05 dev v0 master
		bridge fdb del 02:00:00:00:00:05 dev v0 master
		ip neigh add 10.77.0.9 lladdr 02:00:00:00:00:09 dev br0
		ip neigh change 10.77.0.9 lladdr 02:00:00:00:00:0a dev br0
		ip neigh del 10.77.0.9 dev br0
		ip route add 10.78.0.0/16 via 10.77.0.5
		ip route get 10.78.1.1; ip -6 route get ::1; ip link set nowhere up
		tc qdisc add dev v1 root handle 1: pfifo; tc qdisc change dev v1 root handle 1: pfifo limit 5; tc qdisc del dev v1 root
	`)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	_ = c.Run()
	const protocolMPTCP = 262
	for _, s := range [][3]int{{unix.AF_INET, unix.SOCK_STREAM, protocolMPTCP}, {unix.AF_INET6, unix.SOCK_DGRAM, 0}} {
		if fd, err := unix.Socket(s[0], s[1], s[2]); err == nil {
			_ = unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}})
			_ = unix.Close(fd)
		}
	}
	mptcp(protocolMPTCP)
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.SetNonblock(fd, true)
		_ = unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_LOCAL, Port: 9})
		_ = unix.Close(fd)
	}
}

// mptcp sends a little over a connection of several paths' kind.
func mptcp(protocol int) {
	ln, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return
	}
	defer unix.Close(ln)
	if unix.Bind(ln, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}) != nil || unix.Listen(ln, 1) != nil {
		return
	}
	addr, err := unix.Getsockname(ln)
	if err != nil {
		return
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if unix.Connect(fd, addr) != nil {
		return
	}
	peer, _, err := unix.Accept(ln)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, make([]byte, 10000))
	_, _ = unix.Read(peer, make([]byte, 10000))
	_ = unix.Close(peer)
}

func odds(dir string) {
	if fd, err := unix.InotifyInit(); err == nil {
		_, _ = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE)
		_ = os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600)
		_ = unix.Close(fd)
	}
	percpuMap()
	ring()
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1"), 0)
	if fd, err := unix.MemfdCreate("jalon", unix.MFD_HUGETLB); err == nil {
		_ = unix.Ftruncate(fd, 2<<20)
		_ = unix.Close(fd)
	}
	if fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME_ALARM, 0); err == nil {
		_ = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Sec: 100}}, nil)
		_ = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{}, nil)
		_ = unix.Close(fd)
	}
	if m, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err == nil {
		_ = unix.Madvise(m, unix.MADV_MERGEABLE)
		_ = unix.Madvise(m, unix.MADV_UNMERGEABLE)
		_ = unix.Munmap(m)
	}
	var stat unix.Statfs_t
	_ = unix.Statfs(dir, &stat)
	_, _ = unix.Getrandom(make([]byte, 100), 0)
	_ = unix.Access("/nowhere", unix.F_OK)
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	if fd, err := unix.Open("/dev/kvm", unix.O_RDWR, 0); err == nil {
		const createVM = 0xae01
		if vm, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), createVM, 0); e == 0 {
			_ = unix.Close(int(vm))
		}
		_ = unix.Close(fd)
	}
}

// percpuMap makes a BPF map with a value for each processor.
func percpuMap() {
	const create, percpuHash = 0, 5
	attr := [...]uint32{percpuHash, 4, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	fd, _, e := unix.Syscall(unix.SYS_BPF, create, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if e == 0 {
		_ = unix.Close(int(fd))
	}
}

// ring makes an io_uring and has it do nothing once.
func ring() {
	var params [120]byte
	fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	if e != 0 {
		return
	}
	_, _, _ = unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 0, 0, 0, 0, 0)
	_ = unix.Close(int(fd))
}
