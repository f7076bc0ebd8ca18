package inproc

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ring"
)

// TestPrefault: after it, writes to the rings in another mapping raise no page faults, and nothing was written.
func TestPrefault(t *testing.T) {
	g, err := ring.NewGeometry(1, 1<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("prefault-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := ring.Prepare(fd, g); err != nil {
		t.Fatal(err)
	}
	mem, err := ring.Map(fd, g)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	// The mapping of the process: this one, too.
	other, err := unix.Mmap(fd, int64(g.RingFileOffset(0)), ring.RingData+g.RingSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(other)
	base := uint64(uintptr(unsafe.Pointer(&other[0]))) - g.RingOffset(0)
	f := startPrefault(unix.Getpid(), mem, g, base)
	<-f.done
	f.stop()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	data := other[ring.RingData:]
	before := faults(t)
	for at := 0; at < len(data); at += ring.PageSize {
		if data[at] != 0 {
			t.Fatalf("byte %d was written", at)
		}
		data[at] = 1
	}
	if n := faults(t) - before; n > int64(len(data)/ring.PageSize/10) {
		t.Errorf("%d page faults at %d pages", n, len(data)/ring.PageSize)
	}
}

func faults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return u.Minflt
}
