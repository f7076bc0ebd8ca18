package process

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// TestHeapGrows: memory that is taken at the start is not in brk's way.
func TestHeapGrows(t *testing.T) {
	for _, flags := range [][]string{{"-no-pie"}, nil, {"-static"}, {"-static-pie"}} {
		r := start(t, Config{}, build(t, "heap", flags...))
		stop(t, r.Process, func(s *Stopped) error {
			for range 20 {
				if _, err := s.AllocNear(must(entryOf(s)), 1<<20); err != nil {
					return err
				}
			}
			return nil
		})
		if out, st := r.finish(); st != (ExitStatus{}) || out != "grown\n" {
			t.Errorf("%v: %v %q", flags, st, out)
		}
	}
}

// entryOf is an address in the program itself, whatever was started first.
func entryOf(s *Stopped) (uint64, error) {
	aux, err := procdir.Auxv(s.Pid())
	const entry = 9 // AT_ENTRY
	at, _ := procdir.AuxValue(aux, entry)
	return at, err
}
