package kernel

import (
	"slices"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/engine"
)

// Each program begins with a test of its switch, a byte in the memory that it shares with jalon, so it is disabled and enabled by
// one store. The kernel calls also a program that does nothing, which costs what the kind of place costs (a trap at a uprobe).
// So one that stays disabled is detached, in the background.

// detachAfter is how long a program is disabled before it is detached.
const detachAfter = time.Second

// switches is the state of programs that are disabled and still attached. mu guards everything that attaches or detaches.
type switches struct {
	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

// lock returns the function that unlocks.
func (s *switches) lock() (unlock func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// end is lock, and no program is detached in the background any more.
func (s *switches) end() (unlock func()) {
	unlock = s.lock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
	return unlock
}

// Enable implements engine.Engine: programs stay loaded, and attached for a while.
func (e *Engine) Enable(list []*engine.Program, on bool) error {
	programs := e.chosen(list)
	defer e.switches.lock()()
	if !on {
		if err := e.turn(programs, false); err != nil {
			return err
		}
		e.detachLater()
		return nil
	}
	if slices.ContainsFunc(programs, func(p *program) bool { return !p.on }) {
		if err := e.detachOff(); err != nil {
			return err
		}
	}
	refused, _ := e.attacher.attach(programs, nil)
	for _, err := range refused {
		return err
	}
	return e.turn(programs, true)
}

// turn stores the switches of programs. The second of a pair does nothing without the first, and has none of its own. One that
// shares its code with others that are not disabled is detached.
func (e *Engine) turn(list []*program, on bool) error {
	if len(list) == 0 {
		return nil
	}
	var apart []*program
	loads := map[*load]bool{}
	for _, p := range list {
		p.off = !on
		loads[p.load] = true
	}
	err := e.loader.mem.shared.Switch(func(yield func(uint32, bool) bool) {
		for l := range loads {
			switch {
			case l == nil || l.programs[0].first != nil:
			case !slices.ContainsFunc(l.programs, func(p *program) bool { return !p.off }):
				if !yield(l.programs[0].id, false) {
					return
				}
			default:
				if !yield(l.programs[0].id, true) {
					return
				}
				for _, p := range l.programs {
					if p.off && p.on {
						apart = append(apart, p)
					}
				}
			}
		}
	})
	if err != nil || len(apart) == 0 {
		return err
	}
	return e.attacher.detach(apart)
}

func (e *Engine) addLoad(l *load) {
	defer e.switches.lock()()
	e.loads = append(e.loads, l)
}

// detachOff detaches the programs that are disabled.
func (e *Engine) detachOff() error {
	var list []*program
	for _, l := range e.loads {
		for _, p := range l.programs {
			if p.off && p.on {
				list = append(list, p)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return e.attacher.detach(list)
}

// detachLater calls detachOff, detachAfter behind the last change.
func (e *Engine) detachLater() {
	s := &e.switches
	if s.timer != nil {
		s.timer.Reset(detachAfter)
		return
	}
	s.timer = time.AfterFunc(detachAfter, func() {
		defer s.lock()()
		if s.ended {
			return
		}
		if err := e.detachOff(); err != nil {
			e.logf("detaching disabled programs: %v", err)
		}
	})
}

// Others is how many perf events are open on a static tracepoint, those of this process
// included.
func (e *Engine) Others(m *Marker) (int, error) { return e.k.PerfUsers(m.Name.System, m.Name.Event) }
