package process

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// trampoline is generated code for the function patched: it counts, executes a copy
// of the first instruction, and jumps back behind it.
type trampoline struct {
	site         uint64 // the function
	at, copy     uint64 // the code, and the copy of the instruction in it
	end, counter uint64
	stops        bool // report the boundaries; otherwise only what is in the code
	calls        *atomic.Int64
}

const siteLen = 5

func (tr *trampoline) where(pc uint64) Code {
	tr.calls.Add(1)
	switch {
	case pc < tr.at || pc >= tr.end:
		return Code{}
	case pc == tr.copy:
		return Code{In: true, Boundary: true, Orig: tr.site}
	}
	c := Code{In: true}
	switch {
	case !tr.stops:
	case pc < tr.copy:
		c.Stops = []uint64{tr.copy}
	default:
		c.Stops = []uint64{tr.site + siteLen}
	}
	return c
}

func rel(from, to uint64) []byte {
	return binary.LittleEndian.AppendUint32(nil, uint32(to-from))
}

// patchIn makes the trampoline and writes the jump to it.
func (tr *trampoline) patchIn(t *testing.T, p *Process) {
	t.Helper()
	stop(t, p, func(s *Stopped) error {
		base, err := s.AllocNear(tr.site, memory.PageSize)
		if err != nil {
			return err
		}
		data, err := s.Syscall(unix.SYS_MMAP, 0, memory.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
		if err != nil {
			return err
		}
		tr.at, tr.counter = base, data
		code := []byte{0x9c, 0x50, 0x48, 0xb8} // pushf; push %rax; movabs $counter,%rax
		code = binary.LittleEndian.AppendUint64(code, data)
		code = append(code, 0xf0, 0x48, 0xff, 0x00) // lock incq (%rax)
		code = append(code, 0x58, 0x9d)             // pop %rax; popf
		tr.copy = base + uint64(len(code))
		orig := make([]byte, siteLen)
		if err := s.ReadMem(tr.site, orig); err != nil {
			return err
		}
		code = append(code, orig...)
		code = append(code, 0xe9)
		code = append(code, rel(base+uint64(len(code))+4, tr.site+siteLen)...)
		tr.end = base + uint64(len(code))
		if err := s.WriteMem(base, code); err != nil {
			return err
		}
		return s.WriteMem(tr.site, append([]byte{0xe9}, rel(tr.site+siteLen, base)...))
	})
}

func (tr *trampoline) count(t *testing.T, p *Process) uint64 {
	t.Helper()
	var b [8]byte
	if n, err := p.ReadMemory(tr.counter, b[:]); n != 8 {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// newTrampoline starts a program with the function patched.
func newTrampoline(t *testing.T, stops bool, c Control, threads, count int) (*trampoline, *debugged) {
	t.Helper()
	prog := controlProg(t)
	tr := &trampoline{site: symbol(t, prog, "patched"), stops: stops, calls: &atomic.Int64{}}
	c.Where = tr.where
	d := startControl(t, c, prog, "patch", fmt.Sprint(threads), fmt.Sprint(count))
	tr.patchIn(t, d.Process)
	return tr, d
}

func (tr *trampoline) inside(pc uint64) bool { return pc >= tr.at && pc < tr.end }

// TestControlWhere: threads are halted all the time, and never shown in generated
// code; each goes on as if nothing had been.
func TestControlWhere(t *testing.T) {
	for _, stops := range []bool{true, false} {
		t.Run(fmt.Sprint(stops), func(t *testing.T) {
			const threads, count = 4, 300000
			tr, d := newTrampoline(t, stops, Control{}, threads, count)
			last := symbol(t, controlProg(t), "sum") // after the loop: the program stays to be looked at
			d.insert(last)
			d.resumeAll()
			shown, ended := 0, 0
			for ended < 1 {
				stops, err := d.HaltAll()
				if err != nil {
					t.Fatal(err)
				}
				for _, th := range d.ThreadList() {
					pc := d.pc(th.TID)
					if tr.inside(pc) {
						t.Fatalf("thread %d is shown at %#x in %#x-%#x", th.TID, pc, tr.at, tr.end)
					}
					if pc == tr.site {
						shown++
					}
					// What was shown is written back, and changes nothing.
					if err := d.SetRegs(th.TID, d.regs(th.TID)); err != nil {
						t.Fatal(err)
					}
				}
				for {
					s, ok := d.q.take()
					if !ok {
						break
					}
					stops = append(stops, s)
				}
				for _, s := range stops {
					if s.Kind == StopNoneRuns {
						continue // a thread has ended while the others are stopped at the last breakpoint
					}
					if s.Kind != StopBreakpoint {
						t.Fatalf("%+v", s)
					}
					ended++
				}
				if ended == 0 {
					d.resumeAll()
				}
			}
			d.remove(last)
			d.resumeAll()
			if d.r.wait(); d.r.out.all() != "bad 0\n" {
				t.Errorf("%q", d.r.out.all())
			}
			t.Logf("shown at the site %d times", shown)
		})
	}
}

// TestControlWhereStep: stepping through a patched function looks as if it were not.
func TestControlWhereStep(t *testing.T) {
	for _, stops := range []bool{true, false} {
		tr, d := newTrampoline(t, stops, Control{}, 1, 3)
		d.insert(tr.site)
		d.resumeAll()
		for i := range 3 {
			s := d.expect(StopBreakpoint)
			if d.pc(s.TID) != tr.site || tr.count(t, d.Process) != uint64(i) {
				t.Errorf("%+v at %#x", s, d.pc(s.TID))
			}
			d.remove(tr.site)
			d.step(s.TID)
			if pc := d.pc(s.TID); pc != tr.site+siteLen {
				t.Errorf("stepped to %#x, want %#x", pc, tr.site+siteLen)
			}
			if n := tr.count(t, d.Process); n != uint64(i+1) {
				t.Errorf("%d hits", n)
			}
			d.step(s.TID) // ret
			if pc := d.pc(s.TID); pc-tr.site <= siteLen || tr.inside(pc) {
				t.Errorf("returned to %#x", pc)
			}
			d.insert(tr.site)
			d.resume(Resumption{TID: s.TID})
		}
		d.expectEnd(0, "bad 0\n")
	}
}

// TestControlWhereBreak: a breakpoint over the jump of a patch; both count each hit.
func TestControlWhereBreak(t *testing.T) {
	const threads, count = 4, 100
	var hits atomic.Int64
	for _, verdict := range []BreakVerdict{BreakGo, BreakStep} {
		hits.Store(0)
		steps, bad := 0, 0
		var d *debugged
		var tr *trampoline
		tr, d = newTrampoline(t, true, Control{
			OnBreak: func(tid int, addr uint64) BreakVerdict {
				if addr != tr.site {
					return BreakStop
				}
				hits.Add(1)
				return verdict
			},
			OnStepped: func(tid int) bool {
				steps++
				var r Regs
				if sys.GetRegs(tid, &r) != nil || d.Process != nil && tr.inside(d.ctl.machine.Shown(r.PC())) {
					bad++
				}
				return steps%4 != 0
			},
		}, threads, count)
		d.insert(tr.site)
		last := symbol(t, controlProg(t), "sum")
		d.insert(last)
		d.resumeAll()
		d.expect(StopBreakpoint)
		d.haltAll()
		// The jump changes below the breakpoint: it is taken out, and put back.
		stop(t, d.Process, func(st *Stopped) error {
			var b [siteLen]byte
			if err := st.ReadMem(tr.site, b[:]); err != nil {
				return err
			}
			if b[0] != 0xe9 {
				t.Errorf("%x below the breakpoint", b)
			}
			return st.WriteMem(tr.site, b[:])
		})
		d.remove(last)
		d.resumeAll()
		d.r.wait()
		if out := d.r.out.all(); out != "bad 0\n" || bad != 0 {
			t.Errorf("%q, %d steps were shown in generated code", out, bad)
		}
		if n := hits.Load(); n != threads*count {
			t.Errorf("%d hits", n)
		}
		if verdict == BreakStep && steps < threads*count {
			t.Errorf("%d steps", steps)
		}
	}
}
