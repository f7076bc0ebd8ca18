package process

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// TestWriteWhole: a few bytes over the end of a page are written at once where the pages are writable, and as all
// else where they are not.
func TestWriteWhole(t *testing.T) {
	r := start(t, Config{}, build(t, "lists"))
	b := []byte{1, 2, 3, 4, 5}
	must(r.Stopped(func(s *Stopped) error {
		for _, c := range []struct {
			prot  uint64
			whole bool
		}{{unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC, true}, {unix.PROT_READ | unix.PROT_EXEC, false}} {
			base, err := s.Syscall(unix.SYS_MMAP, 0, 2*memory.PageSize, c.prot, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
			if err != nil {
				return err
			}
			at := base + memory.PageSize - 2
			if s.sp.WriteWhole(base, b) || s.sp.WriteWhole(at, b) != c.whole {
				t.Errorf("protection %d: not %v", c.prot, c.whole)
			}
			b[0]++
			if err := s.WriteMem(at, b); err != nil {
				return err
			}
			got := make([]byte, len(b))
			if err := s.ReadMem(at, got); err != nil || !bytes.Equal(got, b) {
				t.Errorf("protection %d: % x, %v", c.prot, got, err)
			}
		}
		return nil
	}))
	must(0, r.Kill())
}
