package process

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// tracer is what the tracer's goroutine has: what its parts share, and the parts. Each part has its own
// state, which no other part changes, and calls the methods of other parts. Only that goroutine uses it,
// except for the fields that are marked.
type tracer struct {
	cfg  Config
	pid  int
	tid  int // the tracer's thread
	done chan struct{}
	cmds chan func() // from other goroutines

	mu     sync.Mutex
	status ExitStatus // under mu

	threads *threads.Table[*task]
	space   *inject.Workspace // of the process itself
	deadman deadman
	ctl     *control // what is known of run control; nil: not under run control

	waits        waiter
	world        world
	driver       driver
	injector     *inject.Injector[*task] // runs system calls in the process
	signals      signals
	dispositions dispositions
	linker       linker
	children     children
	handovers    handovers
	starter      starter
	attacher     attacher
	detacher     detacher
	debugger     debugger
	stepper      stepper
	exclusive    exclusive
	breakpoints  breakpoints
	registered   registered
	nesting      nesting
}

// waiter takes reports from the kernel in an order in which each thread has its turn.
type waiter struct {
	*tracer
	sigchld chan os.Signal
	queue   []waited      // taken from the kernel, not handled yet
	late    []func()      // to be done when the queue is empty
	asked   time.Time     // when all threads were asked for by number
	askTook time.Duration // how long that took
}

// world stops all threads, and lets threads go on.
type world struct {
	*tracer
	stops int // of all threads, for the caller
}

// driver performs the requests of the table of threads.
type driver struct{ *tracer }

// host is what package inject needs of the tracer.
type host struct{ *tracer }

// Await implements inject.Host.
func (h host) Await(t *task) (unix.WaitStatus, error) { return h.waits.await(t) }

// Settle implements inject.Host.
func (h host) Settle(t *task) error { return h.world.settle(t) }

// Handle implements inject.Host.
func (h host) Handle(t *task, ws unix.WaitStatus) { h.driver.handleStop(t.TID, ws) }

// Replaced implements inject.Host.
func (h host) Replaced(t *task, ws unix.WaitStatus) bool { return h.waits.replacedBy(t, ws) }

// AtCallExit implements inject.Host: outside of an injection, syscall-stops are run control's.
func (h host) AtCallExit(t *task) bool { return h.ctl != nil && !t.dbg.Entry }

// signals decides about signals that are about to be delivered: which are of generated code,
// and which are the program's.
type signals struct{ *tracer }

// dispositions keeps the actions and masks of the signals that generated code raises as the
// program has them, and the handlers that keep its code harmless when jalon dies.
type dispositions struct {
	*tracer
	actions       map[unix.Signal]sigaction // last known, see repair.go
	masks         map[int]uint64            // blocked signals of threads, last known
	restored      int64                     // when an action was last put back, CLOCK_MONOTONIC
	raisedOwn     uint64                    // guarded signals of the program's own that were delivered to handlers of its own
	learned       int64                     // when actions were last read at a handler, CLOCK_MONOTONIC
	trap          trapHandler
	faultHandlers map[unix.Signal]trapHandler
}

// linker watches ld.so for modules that come and go.
type linker struct {
	*tracer
	modules modules
}

// children handles what the process creates.
type children struct{ *tracer }

// handovers gives a child to a tracer of its own.
type handovers struct {
	*tracer
	leftBorrowed func() // nil, or called when it has left the memory that it borrows
}

// starter starts programs.
type starter struct {
	*tracer
	child bool // started by us, not attached to
	// dieWithUs: the kernel kills it when our thread ends.
	dieWithUs bool
}

// attacher attaches to running processes.
type attacher struct {
	*tracer
	seizing  atomic.Int64 // the number of the request to seize a thread that is under way, or 0; any goroutine
	unwanted atomic.Bool  // Attach has returned: let go; any goroutine
	// interrupted: the user has asked for the end of an attachment that is under way; any goroutine.
	interrupted atomic.Bool
	requests    int64 // to seize a thread, so far
	seized      []int // threads that Attach has seized so far
}

// detacher lets go of the process as it was.
type detacher struct{ *tracer }

// debugger is run control: which stops are reported, when, and with which signals threads
// go on.
type debugger struct{ *tracer }

// stepper makes single steps.
type stepper struct{ *tracer }

// exclusive makes exclusive steps.
type exclusive struct{ *tracer }

// breakpoints handles the traps of a debugger's breakpoints and watchpoints.
type breakpoints struct{ *tracer }

func newTracer(cfg Config) *tracer {
	t := &tracer{
		cfg: cfg, done: make(chan struct{}), cmds: make(chan func()),
		threads: threads.NewTable(newTask),
	}
	t.ctl = newControl(cfg.Control, t)
	t.waits = waiter{tracer: t, sigchld: make(chan os.Signal, 1)}
	t.injector = inject.New(host{t}, t.threads)
	t.injector.Exact = t.ctl != nil
	t.dispositions = dispositions{
		tracer: t, actions: map[unix.Signal]sigaction{}, masks: map[int]uint64{}, faultHandlers: map[unix.Signal]trapHandler{},
	}
	t.attacher.tracer, t.starter.tracer, t.linker.tracer, t.handovers.tracer = t, t, t, t
	t.world, t.driver, t.signals, t.children, t.detacher = world{tracer: t}, driver{t}, signals{t}, children{t}, detacher{t}
	t.registered.tracer, t.nesting.tracer = t, t
	t.debugger, t.stepper, t.exclusive, t.breakpoints = debugger{t}, stepper{t}, exclusive{t}, breakpoints{t}
	return t
}
