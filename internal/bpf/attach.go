package bpf

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// part attaches a program to one place, or to many of one group.
type part struct {
	link  link.Link // nil if the program is attached to the event itself (Linux before 5.15)
	event int       // perf event under the link; -1: none
}

func (p part) close() error {
	var err error
	if p.link != nil {
		err = p.link.Close()
	}
	if p.event >= 0 {
		if cerr := unix.Close(p.event); err == nil {
			err = cerr
		}
	}
	return err
}

// closing is the number of parts that are closed concurrently. Each close of a trace event waits until no CPU
// can be in its program any more (tens of milliseconds). Concurrent closes share this wait.
const closing = 256

func closeParts(parts []part) error {
	if len(parts) == 1 {
		return parts[0].close()
	}
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(len(parts), closing) {
		wg.Go(func() {
			for i := range next {
				errs[i] = parts[i].close()
			}
		})
	}
	for i := range parts {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// linkOf makes a part from a link's descriptor, which the part then owns.
func linkOf(fd, event int) (part, error) {
	l, err := link.NewFromFD(fd)
	if err != nil {
		if event >= 0 {
			_ = unix.Close(event)
		}
		return part{}, err
	}
	return part{link: l, event: event}, nil
}

// Link is a program attached to its places. Closing it ends the hits; the program can be attached again. Keep a
// reference: the garbage collector detaches an unreferenced Link.
type Link struct {
	mu     sync.Mutex
	parts  []part
	places int
}

// Places is the number of places the program is attached to through this link.
func (l *Link) Places() int { return l.places }

// Close detaches the program from all places of this link. A run of the program that is in progress may
// still write its record.
func (l *Link) Close() error {
	l.mu.Lock()
	parts := l.parts
	l.parts, l.places = nil, 0
	l.mu.Unlock()
	if err := closeParts(parts); err != nil {
		return wrap("detaching", err)
	}
	return nil
}

// Failed is a place that a program could not be attached to.
type Failed struct {
	Target Target
	Err    error
}

// AttachError is the error of AttachAll: the failed places, each with its own error. All other places are
// attached.
type AttachError struct {
	Failed   []Failed
	Attached int
}

func (e *AttachError) Error() string {
	if len(e.Failed) == 1 {
		return e.Failed[0].Err.Error()
	}
	return fmt.Sprintf("%d of %d places could not be attached; the first: %v",
		len(e.Failed), len(e.Failed)+e.Attached, e.Failed[0].Err)
}

func (e *AttachError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i := range e.Failed {
		errs[i] = e.Failed[i].Err
	}
	return errs
}

// Attach attaches the program to a place.
func (l *Loaded) Attach(t Target) (*Link, error) {
	lk, err := l.AttachAll([]Target{t}, nil)
	var ae *AttachError
	if errors.As(err, &ae) {
		return nil, ae.Failed[0].Err
	}
	return lk, err
}

// AttachAll attaches the program to many places, in as few calls as the kernel allows. If some fail, the
// error is an *AttachError, and the link has the other places (nil if there are none): exactly the places
// that are not in the error are attached.
//
// A thousand uprobes, or kprobes on functions, are attached and detached in about 50 ms if the kernel has
// multi-links. Trace events and single probes attach fast but detach slowly: the kernel waits for an RCU
// grace period for each (about 70 ms).
//
// check, if not nil, is called every few milliseconds. If it returns an error, AttachAll detaches
// everything and returns that error.
func (l *Loaded) AttachAll(targets []Target, check func() error) (*Link, error) {
	if check == nil {
		check = func() error { return nil }
	}
	lk, ae := &Link{}, &AttachError{}
	able := make([]Target, 0, len(targets))
	for _, t := range targets {
		if err := l.k.checkTarget(&t); err != nil {
			ae.Failed = append(ae.Failed, Failed{t, l.k.explain(err, attaching(&t))})
			continue
		}
		able = append(able, t)
	}
	able, bad, release, err := l.checkInstructions(able, check)
	defer release()
	if err != nil {
		return nil, err
	}
	ae.Failed = append(ae.Failed, bad...)
	for _, group := range l.steps(able) {
		if err := check(); err != nil {
			_ = closeParts(lk.parts)
			return nil, err
		}
		parts, failed := l.attachGroup(group)
		lk.parts = append(lk.parts, parts...)
		lk.places += len(group.targets) - len(failed)
		ae.Failed = append(ae.Failed, failed...)
	}
	ae.Attached = lk.places
	switch {
	case len(ae.Failed) == 0:
		return lk, nil
	case lk.places == 0:
		return nil, ae
	}
	return lk, ae
}

// group is a list of places for one call, or, if multi is false, places that are attached one after the
// other.
type group struct {
	multi   bool
	targets []Target
}

// groupKey has the properties that places for one call must have in common.
type groupKey struct {
	multi  bool
	kind   Kind
	path   string
	pid    int
	byAddr bool
}

// groups groups the places, keeping their order within a group.
func (l *Loaded) groups(targets []Target) []*group {
	var order []*group
	byKey := map[groupKey]*group{}
	for _, t := range targets {
		if t.Kind.info().prog != l.kind.info().prog || l.kind.bound() && (t.Kind != l.kind || t.bound() != l.name) {
			panic("BUG: a program for " + l.kind.String() + " " + l.name + " attached to " + t.String())
		}
		key := groupKey{multi: l.k.canMulti(&t, len(targets))}
		if key.multi {
			key.kind, key.path, key.pid, key.byAddr = t.Kind, t.Path, t.Pid, t.Symbol == ""
		}
		g := byKey[key]
		if g == nil {
			g = &group{multi: key.multi}
			byKey[key] = g
			order = append(order, g)
		}
		g.targets = append(g.targets, t)
	}
	return order
}

// Number of places that are attached at a time: in one call, or one after the other.
const (
	atOnce   = 1024
	oneByOne = 32
)

// steps splits groups into small ones, so that attaching each takes little time.
func (l *Loaded) steps(targets []Target) (out []*group) {
	for _, g := range l.groups(targets) {
		most := oneByOne
		if g.multi {
			most = atOnce
		}
		for part := range slices.Chunk(g.targets, most) {
			out = append(out, &group{multi: g.multi, targets: part})
		}
	}
	return out
}

func (l *Loaded) attachGroup(g *group) ([]part, []Failed) {
	if !g.multi {
		return l.attachEach(g.targets)
	}
	prog, err := l.form(formMulti)
	if err != nil {
		return nil, failAll(g.targets, err)
	}
	return l.attachMany(prog, g.targets)
}

// attachMany attaches in one call. If the kernel refuses because of one place, it does not report which, so
// each half is tried.
func (l *Loaded) attachMany(prog *ebpf.Program, targets []Target) ([]part, []Failed) {
	const most = 1 << 20 // MAX_KPROBE_MULTI_CNT, MAX_UPROBE_MULTI_CNT
	half := len(targets) / 2
	if len(targets) <= most {
		p, err := targets[0].Kind.info().many(l.k, prog, targets)
		switch {
		case err == nil:
			return []part{p}, nil
		case !ofOnePlace(err):
			return nil, failAll(targets, l.k.explain(err, attaching(&targets[0])))
		case len(targets) == 1 && (targets[0].Kind == Kprobe || targets[0].Kind == Kretprobe):
			return l.attachEach(targets) // ftrace cannot; perhaps a breakpoint can
		case len(targets) == 1:
			return nil, failAll(targets, l.k.explain(err, attaching(&targets[0])))
		}
	}
	parts, failed := l.attachMany(prog, targets[:half])
	parts2, failed2 := l.attachMany(prog, targets[half:])
	return append(parts, parts2...), append(failed, failed2...)
}

// ofOnePlace reports whether a single place may have caused the error.
func ofOnePlace(err error) bool {
	return slices.ContainsFunc(placeErrors, func(e error) bool { return errors.Is(err, e) })
}

var placeErrors = []error{
	unix.EINVAL, unix.ENOENT, unix.ESRCH, unix.EILSEQ, unix.EADDRNOTAVAIL, unix.EBUSY,
	unix.EOPNOTSUPP, enotsupp, unix.ENOEXEC, unix.EIO,
}

func (l *Loaded) attachEach(targets []Target) (parts []part, failed []Failed) {
	prog, err := l.form(formOne)
	if err != nil {
		return nil, failAll(targets, err)
	}
	for i := range targets {
		t := &targets[i]
		got, err := t.Kind.info().one(l.k, prog, t)
		if err != nil {
			failed = append(failed, Failed{*t, l.k.explain(err, attaching(t))})
			continue
		}
		parts = append(parts, got...)
	}
	return parts, failed
}

// checkTarget refuses requests that the kernel would ignore silently for this kind of place.
func (k *Kernel) checkTarget(t *Target) error {
	switch {
	case t.Pid != 0 && !t.Kind.info().pid:
		return errNoPid
	case t.Cookie != 0 && !k.hasCookie(t.Kind):
		return errNoCookie
	}
	return nil
}

func (k *Kernel) hasCookie(kd Kind) bool {
	f := &k.features
	switch kd {
	case RawTracepoint, TracedTracepoint:
		return f.RawCookie.OK
	case Fentry, Fexit:
		return f.AtLeast(5, 19) // this cannot be tested before attaching
	}
	return f.PerfLink.OK
}

func attaching(t *Target) *attempt {
	return &attempt{op: "attach to " + t.String(), kind: t.Kind, target: t}
}

func failAll(targets []Target, err error) []Failed {
	failed := make([]Failed, len(targets))
	for i, t := range targets {
		failed[i] = Failed{t, err}
	}
	return failed
}
