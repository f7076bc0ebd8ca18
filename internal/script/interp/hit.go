package interp

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"syscall"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// Hit is a hit of a probe at a site, with what was recorded there.
type Hit struct {
	Site          *plan.Site
	Pid, Tid, CPU int
	Comm          string
	Time          uint64 // CLOCK_MONOTONIC
	Function      string
	Place         string
	Record        Record
}

// Record has the fields of a hit.
type Record interface {
	// Field returns the bytes of a field, or why it has no value. cut: the value is longer.
	Field(i int) (data []byte, cut bool, why string)
	// Stack returns the frames of a stack, innermost first, or why there are none.
	Stack(i int) (frames []printf.Frame, why string)
	// Symbol returns the name of an address of the process, "" if there is none.
	Symbol(addr uint64) string
}

// Names finds the names of addresses.
type Names interface {
	Kernel(addr uint64) string
	User(pid int, addr uint64) string
}

// Hit executes the probe of a hit.
func (m *Machine) Hit(ctx context.Context, h *Hit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended && h.Time >= m.endTime && !iterated(h) {
		return nil
	}
	m.hit = h
	defer func() { m.hit = nil }()
	_, err := m.run(ctx, h.Site.Probe, h.Site.Point, h.Site.Decided)
	return err
}

// recorded is the value of an expression that was read at the site.
func (m *Machine) recorded(x script.Expr, turn int) (val, *types.Type, bool) {
	f, ok := m.hit.Site.Fields[plan.Key{X: x, Turn: turn}]
	if !ok {
		return val{}, nil, false
	}
	for _, s := range f.Steps {
		m.expr(s)
	}
	t := m.typeOf(x)
	if i, ok := x.(*script.Index); ok { // the site has read what is behind the array
		if a := m.typeOf(i.X); a.Kind == types.Array && a.Count > 0 && m.expr(i.I).n >= uint64(a.Count) {
			m.warn(x, outside)
			return blank(f.Type), f.Type, true
		}
	}
	if f.Type.Is(types.KStack, types.UStack) {
		return stackOf(m, x, f), t, true
	}
	b, cut, why := m.hit.Record.Field(f.Index)
	if why != "" {
		m.warn(x, unread, why)
		return blank(f.Type), f.Type, true
	}
	v := decode(b, f.Type)
	if t.Kind == types.Void && int64(v.n) < 0 {
		m.warn(x, unsent, syscall.Errno(-v.n))
	}
	if call, ok := x.(*script.Call); ok && t.Kind == types.String {
		m.cut(call, &v, cut)
	}
	switch {
	case t.Is(types.Int, types.Pointer, types.Bool) && f.Type.Kind == types.Int:
		return num(fit(v.n, t)), t, true
	case t.Kind == types.Username:
		return val{n: v.n, s: userName(v.n)}, t, true
	}
	return v, f.Type, true
}

// cut applies the length that a call of str() gives, and marks a string that was longer than it can be.
func (m *library) cut(call *script.Call, v *val, longer bool) {
	if len(call.Args) == 1 {
		if longer {
			v.tail = m.p.Config.Word("str_trunc_trailer")
		}
		return
	}
	if n := m.expr(call.Args[1]).n; uint64(len(v.s)) >= n {
		v.s = v.s[:max(n, 1)-1]
	}
}

func stackOf(m *Machine, x script.Expr, f plan.Field) val {
	frames, why := m.hit.Record.Stack(f.Index)
	if why != "" {
		m.warn(x, unread, why)
	}
	v := stackValue(limited(frames, int(f.Type.Stack.Limit)))
	if f.Type.Kind == types.UStack { // addresses of different processes differ
		v.n = uint64(m.hit.Pid)
	}
	return v
}

// stackValue is a stack of these frames.
func stackValue(frames []printf.Frame) val {
	key := make([]byte, 0, 8*len(frames))
	for _, fr := range frames {
		key = binary.LittleEndian.AppendUint64(key, fr.PC)
		if fr.Note {
			key = append(key, fr.Function...)
		}
	}
	return val{stack: frames, s: string(key)}
}

// depth is how many addresses a stack has: inlined functions have that of the frame behind them.
func depth(frames []printf.Frame) (n uint64) {
	for _, f := range frames {
		if !f.Inlined && !f.Note {
			n++
		}
	}
	return n
}

// limited is the first n frames. Inlined functions do not count. A note on the whole stack remains.
func limited(frames []printf.Frame, n int) []printf.Frame {
	for i, f := range frames {
		if n == 0 && (!f.Note || f.End) {
			if last := len(frames) - 1; frames[last].Note && !frames[last].End {
				return append(slices.Clone(frames[:i]), frames[last])
			}
			return frames[:i]
		}
		if !f.Inlined && !f.Note {
			n--
		}
	}
	return frames
}

// decode makes a value of the bytes of an object.
func decode(b []byte, t *types.Type) val {
	switch t.Kind {
	case types.Float:
		if len(b) == 4 {
			return val{f: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
		} else if len(b) >= 8 {
			return val{f: math.Float64frombits(binary.LittleEndian.Uint64(b))}
		}
		return val{}
	case types.String, types.Buffer, types.Struct:
		return val{s: string(b)}
	case types.Array:
		v := val{list: make([]val, t.Count)}
		for i := range v.list {
			lo := min(int64(i)*t.Elem.Size, int64(len(b)))
			v.list[i] = decode(b[lo:min(lo+t.Elem.Size, int64(len(b)))], t.Elem)
		}
		return v
	case types.Tuple, types.Record:
		v := val{list: make([]val, len(t.Fields))}
		for i, f := range t.Fields {
			lo := min(f.Offset, int64(len(b)))
			v.list[i] = decode(b[lo:min(lo+f.Type.Size, int64(len(b)))], f.Type)
		}
		return v
	}
	var raw [8]byte
	copy(raw[:], b)
	n := binary.LittleEndian.Uint64(raw[:])
	if t.Kind == types.Bool {
		return truth(n&0xff != 0)
	}
	return num(fit(n, t))
}

// memberOf reads a member of a struct's bytes.
func memberOf(b string, f ctype.Field, off int64) (val, *types.Type) {
	t := types.FromC(f.Type)
	if f.BitSize > 0 {
		var n uint64
		for i := range f.BitSize {
			bit := off + i
			if bit/8 < int64(len(b)) && b[bit/8]>>(bit%8)&1 != 0 {
				n |= 1 << i
			}
		}
		if t.Signed && n>>(f.BitSize-1) != 0 {
			n |= ^uint64(0) << f.BitSize
		}
		return num(fit(n, t)), t
	}
	lo := min(off/8, int64(len(b)))
	return decode([]byte(b[lo:min(lo+t.Size, int64(len(b)))]), t), t
}

// printedStruct is a struct of C with all its members.
func printedStruct(v val, t *types.Type) printf.Value {
	var names []string
	var values []printf.Value
	for _, f := range t.C.Fields() {
		e, ft := memberOf(v.s, f, f.BitOffset)
		if ft.Kind == types.None {
			continue
		}
		names, values = append(names, f.Name), append(values, printed(e, ft))
	}
	return printf.Record(names, values)
}

// atHit are the words whose values every hit has.
var atHit map[string]func(*library, script.Expr, []script.Expr) val

func init() {
	atHit = map[string]func(*library, script.Expr, []script.Expr) val{
		"pid": func(m *library, _ script.Expr, _ []script.Expr) val { return num(uint64(uint32(m.hit.Pid))) },
		"tid": func(m *library, _ script.Expr, _ []script.Expr) val { return num(uint64(uint32(m.hit.Tid))) },
		"cpu": func(m *library, _ script.Expr, _ []script.Expr) val { return num(uint64(m.hit.CPU)) },
		"comm": func(m *library, at script.Expr, args []script.Expr) val {
			if len(args) > 0 {
				return here["comm"](m, at, args)
			}
			return val{s: m.hit.Comm}
		},
		"elapsed": func(m *library, _ script.Expr, _ []script.Expr) val {
			return num(m.hit.Time - min(m.hit.Time, m.startMono))
		},
		"nsecs": (*library).nsecsAtHit,
		"func":  func(m *library, _ script.Expr, _ []script.Expr) val { return val{s: m.hit.Function} },
		"probe": func(m *library, _ script.Expr, _ []script.Expr) val { return val{s: m.hit.Place} },
		"args":  (*library).allArgs,
		"uid":   nil, "gid": nil, "username": nil,
		"usermode": func(m *library, at script.Expr, _ []script.Expr) val {
			if !m.hit.Site.Point.Provider.User {
				abandon(unavailable(at, "usermode"))
			}
			return num(1)
		},
	}
}

// nsecsAtHit is a clock at the hit: its time by CLOCK_MONOTONIC and the distance of the other clock from that.
func (m *library) nsecsAtHit(at script.Expr, _ []script.Expr) val {
	switch m.typeOf(at).Clock {
	case "monotonic":
		return num(m.hit.Time)
	case "tai", "sw_tai":
		return num(m.hit.Time + m.wall.at(m.hit.Time))
	}
	return num(m.hit.Time + m.slept.at(m.hit.Time))
}

// distance is how far a clock is ahead of CLOCK_MONOTONIC. It is measured again and again, because the machine may
// sleep and the time of day may be set; small differences are those of the measurement, and do not count: the
// times of all hits must be comparable.
type distance struct {
	clock, mono func() uint64
	ns          uint64
	checked     uint64
}

// Bounds of distance.
const (
	checkEvery  = 1e9
	atLeastNano = 1e6
)

// Slept is how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, as probes at sites see it.
func Slept(boot, mono func() uint64) uint64 {
	d := distance{clock: boot, mono: mono}
	return d.at(0)
}

func (d *distance) at(now uint64) uint64 {
	if d.checked != 0 && now-d.checked < checkEvery || d.clock == nil || d.mono == nil {
		return d.ns
	}
	d.checked = max(now, 1)
	best := ^uint64(0)
	ns := d.ns
	for range 5 { // the one that was interrupted least
		a := d.mono()
		c := d.clock()
		b := d.mono()
		if b-a < best {
			best, ns = b-a, c-(a+(b-a)/2)
		}
	}
	if diff := int64(ns - d.ns); diff > atLeastNano || diff < -atLeastNano {
		d.ns = ns
	}
	return d.ns
}

// ksym and usym are the names of addresses.
func ksym(m *library, _ script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	v := val{n: n}
	if m.opts.Names != nil {
		v.s = m.opts.Names.Kernel(n)
	}
	return v
}

func usym(m *library, _ script.Expr, args []script.Expr) val {
	v := val{n: m.expr(args[0]).n}
	switch {
	case m.hit != nil:
		v.s = m.hit.Record.Symbol(v.n)
	case m.opts.Names != nil:
		v.s = m.opts.Names.User(0, v.n)
	}
	return v
}

// allArgs is the struct of the arguments, made of its members.
func (m *library) allArgs(at script.Expr, _ []script.Expr) val {
	t := m.typeOf(at)
	b := make([]byte, t.Size)
	for i, f := range t.C.Fields() {
		r, ok := m.hit.Site.Fields[plan.Key{X: at, Turn: plan.Turn(m.turn, i)}]
		lo := f.BitOffset / 8
		if !ok || lo >= int64(len(b)) {
			continue
		}
		data, _, why := m.hit.Record.Field(r.Index)
		if why != "" {
			m.warn(at, unread, why)
			continue
		}
		copy(b[lo:min(lo+types.FromC(f.Type).Size, int64(len(b)))], data)
	}
	return val{s: string(b)}
}

// containerOf is the address of the struct around a member.
func containerOf(m *library, x script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	if name, ok := args[2].(*script.Ident); ok {
		if _, off, ok := m.typeOf(x).Pointee().C.CMember(name.Name); ok {
			n -= uint64(off / 8)
		}
	}
	return num(n)
}

// wordAtHit evaluates a word of which a hit has the value.
func (m *library) wordAtHit(at script.Expr, w *words.Word, args []script.Expr) (val, bool) {
	f, ok := atHit[w.Name]
	if !ok {
		return val{}, false
	}
	if f == nil {
		abandon(unavailable(at, w.Name))
	}
	return f(m, at, args), true
}
