package process

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
)

// TestSlack: the recovery stub finds room in every program, in the vdso and in files,
// several beside each other, and nothing is left of them.
func TestSlack(t *testing.T) {
	for _, flags := range [][]string{nil, {"-no-pie"}, {"-static"}, {"musl"}, {"-Wl,-z,noseparate-code"}} {
		r := start(t, Config{}, build(t, "basic", flags...))
		code := bytes.Repeat([]byte{memory.Int3}, inject.StubSize) // something else's
		never := func(lo, hi uint64) bool { return false }
		must(r.Stopped(func(s *Stopped) error {
			sp := r.space
			maps := must(memory.ReadMaps(sp.Pid))
			in := map[string]int{}
			var taken []uint64
			for range 1000 {
				at, err := sp.TakeSlack(code, inject.StubData, never)
				if errors.Is(err, memory.ErrNoSlack) {
					break
				}
				if err != nil {
					return err
				}
				taken = append(taken, at)
				for _, m := range maps {
					if at >= m.Start && at < m.End {
						in[m.Path[strings.LastIndexByte(m.Path, '/')+1:]]++
						if m.Prot != unix.PROT_READ|unix.PROT_EXEC || at+uint64(len(code)) > m.End {
							t.Errorf("%v: %#x is in %+v", flags, at, m)
						}
					}
				}
			}
			if in["[vdso]"] == 0 || len(in) < 2 && !slices.Contains(flags, "-static") { // that one has less behind its code
				t.Errorf("%v: room for stubs: %v", flags, in)
			}
			t.Logf("%v: room for stubs: %v", flags, in)
			// Full: a call is refused, and says why.
			if _, err := s.Syscall(unix.SYS_GETPID); err == nil || !strings.Contains(err.Error(), "has room behind its code") {
				t.Errorf("%v: without room: %v", flags, err)
			}
			for _, at := range taken {
				if err := sp.WriteRaw(at, make([]byte, len(code))); err != nil {
					return err
				}
			}
			if pid := mustSyscall(t, s, unix.SYS_GETPID); pid != uint64(r.Pid()) {
				t.Errorf("%v: getpid is %d", flags, pid)
			}
			at := sp.Stub
			if err := r.injector.End(); err != nil {
				return err
			}
			sp.Stub = 0 // as if jalon had been killed: what it left is used again
			mustSyscall(t, s, unix.SYS_GETPID)
			if sp.Stub != at {
				t.Errorf("%v: the stub was at %#x, and is at %#x now", flags, at, sp.Stub)
			}
			return nil
		}))
		if _, st := r.finish(); st.Signal != 0 {
			t.Errorf("%v: %v", flags, st)
		}
	}
}
