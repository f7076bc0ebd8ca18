package process

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// tableOf is a SequenceTable of any size.
type tableOf struct {
	mu     sync.Mutex
	listed map[uint64]bool
}

func (t *tableOf) Register(thread uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed[thread] = true
	return true
}

func (t *tableOf) Unregister(thread uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listed, thread)
}

func (t *tableOf) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.listed)
}

// TestListSequences: threads that start after the table was made are listed although they never stop by themselves, those
// that end are not; a pointer to a sequence in memory that is to be unmapped is taken from them, any other stays.
func TestListSequences(t *testing.T) {
	const threads = 4
	r := start(t, Config{}, build(t, "busy", "-pthread"), "4")
	if err := r.Resume(r.Pid()); err != nil {
		t.Fatal(err)
	}
	table := &tableOf{listed: map[uint64]bool{}}
	var offset int64
	for ok := false; !ok; { // libc registers the first thread before main
		if _, err := r.Stopped(func(s *Stopped) error {
			list, err := s.Threads()
			if err != nil {
				return err
			}
			if c, has := sys.GetRseq(r.Pid()); has {
				offset = int64(c.Addr - list[0].Regs.ThreadPointer())
			}
			if s.HasSequences(offset + 32) {
				t.Error("there is a struct rseq where there is none")
			}
			if ok = s.HasSequences(offset); ok {
				s.ListSequences(offset, table)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for limit := time.Now().Add(testPatience); table.len() < threads; {
		if time.Now().After(limit) {
			t.Fatalf("%d threads are listed", table.len())
		}
		time.Sleep(time.Millisecond)
	}
	const ours, other = 0x1234560, 0x6543210
	_, err := r.Stopped(func(s *Stopped) error {
		n := uint64(0)
		var b [8]byte
		at := map[uint64]uint64{}
		for thread := range table.listed {
			n++
			at[thread+uint64(offset)+inject.SequencePointer] = []uint64{ours, other}[n%2]
		}
		for addr, value := range at {
			binary.LittleEndian.PutUint64(b[:], value)
			if err := s.WriteMem(addr, b[:]); err != nil {
				return err
			}
		}
		if err := s.LeaveSequences(func(addr uint64) bool { return addr == ours }); err != nil {
			return err
		}
		for addr, value := range at {
			if err := s.ReadMem(addr, b[:]); err != nil {
				return err
			}
			if got := binary.LittleEndian.Uint64(b[:]); got != value && value == other || got != 0 && value == ours {
				t.Errorf("%#x became %#x", value, got)
			}
			if err := s.WriteMem(addr, make([]byte, 8)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.in.Write([]byte("\n"))
	r.Wait()
	if n := table.len(); n > 1 { // the first thread may end the process without an end of its own
		t.Errorf("%d threads are listed at the end", n)
	}
}
