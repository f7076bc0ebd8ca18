package interp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/syscalls"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

var errJump = errors.New("a jump out of a block that is a value")

// unavailable is the error of what cannot be read in jalon itself.
func unavailable(x script.Node, what string) error {
	return x.File().At(x.Span(), what+" cannot be used in a probe that runs in jalon itself", "")
}

// here are the words that have a meaning in jalon itself.
var here = map[string]func(*library, script.Expr, []script.Expr) val{}

func init() {
	for name, f := range map[string]func(*library, script.Expr, []script.Expr) val{
		"pid": threadNumber(os.Getpid, "tgid"), "tid": threadNumber(unix.Gettid, "pid"), "numaid": numaid, "uid": own(os.Getuid), "gid": own(os.Getgid), "ncpus": own(runtime.NumCPU),
		"cpid":     func(m *library, _ script.Expr, _ []script.Expr) val { return num(uint64(m.opts.Child)) },
		"has_cpid": func(m *library, _ script.Expr, _ []script.Expr) val { return truth(m.opts.Child != 0) },
		"comm":     func(*library, script.Expr, []script.Expr) val { return val{s: comm()} },
		"elapsed": func(m *library, _ script.Expr, _ []script.Expr) val {
			return num(uint64(m.opts.Now().Sub(m.start)))
		},
		"nsecs": (*library).nsecs, "rand": func(*library, script.Expr, []script.Expr) val { return num(uint64(rand.Uint32())) },
		"ppid": own(os.Getppid), "kstack": noStack, "ustack": noStack, "dw_ustack": noStack, "cgroup_path": (*library).cgroupPath,
		"cpu":      func(*library, script.Expr, []script.Expr) val { return num(cpu()) },
		"usermode": func(*library, script.Expr, []script.Expr) val { return num(1) },
		"username": func(*library, script.Expr, []script.Expr) val { return val{s: userName(uint64(os.Getuid()))} },
		"probe":    func(m *library, _ script.Expr, _ []script.Expr) val { return val{s: m.placeName()} },
		"config":   (*library).config, "print": (*library).printWord, "clear": (*library).clear, "zero": (*library).clear,
		"delete": (*library).remove, "has_key": (*library).hasKey, "find": (*library).find, "len": (*library).length,
		"exit": (*library).exit, "time": (*library).time, "strftime": (*library).strftime, "cat": (*library).cat, "system": (*library).system,
		"str": (*library).str, "buf": (*library).str, "strlen": (*library).strlen, "strcap": (*library).strcap, "strncmp": (*library).strncmp,
		"strstr": (*library).strstr, "strcontains": (*library).strcontains, "str_concat": (*library).strConcat,
		"strerror": (*library).strerror, "syscall_name": (*library).syscallName, "signal_name": (*library).signalName, "bswap": (*library).bswap, "ntop": (*library).ntop,
		"pton": (*library).pton, "is_err": (*library).isErr, "assert": (*library).assert, "memcmp": (*library).memcmp,
		"static_assert": nothing, "assert_str": nothing, "fail": nothing,
		"ksym": ksym, "usym": usym, "join": join, "kptr": same, "uptr": same,
		"macaddr": macaddr, "container_of": containerOf,
		"speculate": speculating((*speculator).speculate), "commit": speculating((*speculator).commit), "discard": speculating((*speculator).discard),
		"enable": switchProbes(false), "disable": switchProbes(true),
		"printf": (*library).printf, "errorf": (*library).message, "warnf": (*library).message,
	} {
		here[name] = f
	}
}

func nothing(*library, script.Expr, []script.Expr) val { return val{} }

// noStack: jalon's own stack is not what a script asks for.
func noStack(*library, script.Expr, []script.Expr) val { return val{} }

// cgroupPath is the path of a cgroup by its number.
func (m *library) cgroupPath(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	if m.opts.Cgroup == nil {
		return val{n: n}
	}
	return val{n: n, s: m.opts.Cgroup(n)}
}

func own(f func() int) func(*library, script.Expr, []script.Expr) val {
	return func(*library, script.Expr, []script.Expr) val { return num(uint64(f())) }
}

// cpu is the processor that this thread is on, of /proc's stat.
func cpu() uint64 {
	text, err := os.ReadFile("/proc/thread-self/stat")
	if err != nil {
		return 0
	}
	// The name, in parentheses, may have blanks. The processor is the 37th field after it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 37 {
		return 0
	}
	n, err := strconv.ParseUint(fields[36], 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// word evaluates a word or a call of a function of the language.
func (m *library) word(at script.Expr, name string, args []script.Expr) val {
	w := words.Find(name)
	if w != nil && m.hit != nil {
		if v, ok := m.wordAtHit(at, w, args); ok {
			return v
		}
	}
	if w != nil && m.hit == nil && m.opts.Kernel != nil && inKernel[w.Name] != nil && (w.Name != "ppid" || len(args) > 0) {
		return inKernel[w.Name](m, at, args)
	}
	if w == nil || here[w.Name] == nil {
		abandon(unavailable(at, name))
	}
	return here[w.Name](m, at, args)
}

func (m *library) call(x *script.Call) val {
	if f := m.funcs[x.Name]; f != nil {
		return m.function(x, f)
	}
	return m.word(x, x.Name, x.Args)
}

// function calls a function of the script.
func (m *library) function(x *script.Call, f *script.Function) val {
	if len(m.vars) > maxDepth {
		abandon(x.File().At(x.Span(), "the functions call each other too deeply", ""))
	}
	scope := map[string]*slot{}
	for i, p := range f.Params {
		t := m.typeOf(p.Type)
		scope[p.Var.Name] = &slot{v: convert(m.expr(x.Args[i]), m.typeOf(x.Args[i]), t), t: t}
	}
	vars := m.vars
	m.vars = append(make([]map[string]*slot, len(vars), len(vars)+8), scope)
	for i := range vars {
		m.vars[i] = nil
	}
	_, v := m.block(f.Body)
	m.vars = vars
	return convert(v, types.Int64, m.typeOf(f.Result))
}

// comm is the name of this thread's process.
func comm() string {
	text, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		return "jalon"
	}
	return strings.TrimSuffix(string(text), "\n")
}

func (m *library) placeName() string {
	if m.place == nil {
		return ""
	}
	return m.place.Provider.Name + strings.TrimPrefix(m.place.Point.Text, strings.SplitN(m.place.Point.Text, ":", 2)[0])
}

func (m *library) nsecs(at script.Expr, _ []script.Expr) val {
	switch m.typeOf(at).Clock {
	case "monotonic":
		return num(m.opts.Mono())
	case "tai", "sw_tai":
		return num(uint64(m.opts.Now().UnixNano()))
	}
	return num(m.opts.Boot())
}

// config is the record of the settings.
func (m *library) config(at script.Expr, _ []script.Expr) val {
	t := m.typeOf(at)
	v := val{list: make([]val, len(t.Fields))}
	for i, f := range t.Fields {
		switch f.Type.Kind {
		case types.Bool:
			v.list[i] = truth(m.p.Config.Bool(f.Name))
		case types.Int:
			v.list[i] = num(uint64(m.p.Config.Int(f.Name)))
		default:
			v.list[i] = val{s: m.p.Config.Word(f.Name)}
		}
	}
	return v
}

// literal is the value of a literal argument, or other if there are fewer.
func (m *library) literal(args []script.Expr, i int, other uint64) uint64 {
	if i >= len(args) {
		return other
	}
	return m.expr(args[i]).n
}

func (m *library) printWord(at script.Expr, args []script.Expr) val {
	if x, ok := args[0].(*script.Map); ok {
		t := m.maps[x.Name]
		if t.Scalar && len(t.elems) == 0 && !t.Value.ManyValued() {
			empty := *t
			empty.elems = map[string]*cell{"": {v: blank(t.Value)}}
			t = &empty
		}
		if t != nil {
			m.print(t, int(min(m.literal(args, 1, 0), 1<<30)), m.literal(args, 2, 1))
		}
		return val{}
	}
	v := printed(m.expr(args[0]), m.typeOf(args[0]))
	if m.opts.JSON {
		fmt.Fprintf(m.opts.Out, "{\"type\": \"value\", \"data\": %s}\n", v.JSON())
		return val{}
	}
	fmt.Fprintln(m.opts.Out, v)
	return val{}
}

func (m *library) clear(at script.Expr, args []script.Expr) val {
	t := m.maps[args[0].(*script.Map).Name]
	if strings.HasPrefix(at.(*script.Call).Name, "clear") {
		clear(t.elems)
		switch st := m.sites[t.Name]; {
		case st == nil:
		case st.Fn != "":
			st.cleared()
		case m.opts.ClearSites != nil:
			m.clearing = append(m.clearing, t.Name)
		}
	} else {
		t.zero()
	}
	return val{}
}

// mapKey is the map of the first argument, and a key of it.
func (m *library) mapKey(args []script.Expr) (*table, val) {
	switch x := args[0].(type) {
	case *script.Element:
		t := m.maps[x.Map.Name]
		return t, m.key(t, x.Key)
	case *script.Map:
		t := m.maps[x.Name]
		if len(args) > 1 {
			return t, m.key(t, args[1])
		}
		return t, val{}
	}
	return nil, val{}
}

func (m *library) remove(at script.Expr, args []script.Expr) val {
	t, key := m.mapKey(args)
	k := string(encode(nil, key))
	_, ok := t.elems[k]
	delete(t.elems, k)
	if !ok {
		m.warn(at, missingDelete)
	}
	return truth(ok)
}

func (m *library) hasKey(_ script.Expr, args []script.Expr) val {
	t, key := m.mapKey(args)
	return truth(t.get(key) != nil)
}

func (m *library) find(_ script.Expr, args []script.Expr) val {
	t, key := m.mapKey(args)
	c := t.get(key)
	if c == nil {
		return truth(false)
	}
	v := args[2].(*script.Var)
	m.set(v.Name, c.value(t.Value), t.Value, m.typeOf(v))
	return truth(true)
}

func (m *library) length(at script.Expr, args []script.Expr) val {
	x, ok := args[0].(*script.Map)
	if !ok {
		if m.hit == nil {
			abandon(unavailable(at, "a stack"))
		}
		return num(uint64(len(m.expr(args[0]).stack)))
	}
	return num(uint64(len(m.maps[x.Name].elems)))
}

// aggregate executes @m = count() and the like.
func (m *library) aggregate(x script.Expr, call *script.Call, t *table, key val) {
	if b, ok := x.(*script.Block); ok && x != script.Expr(call) { // the statements before the call
		m.push()
		defer m.pop()
		for _, s := range b.Stmts {
			m.stmt(s)
		}
		if b.Value != script.Expr(call) {
			m.aggregate(b.Value, call, t, key)
			return
		}
	}
	var n uint64
	signed := true
	if len(call.Args) > 0 {
		at := m.typeOf(call.Args[0])
		n, signed = convert(m.expr(call.Args[0]), at, types.IntOf(8, at.Signed || at.Kind == types.Float)).n, at.Signed
	}
	switch call.Name {
	case "hist":
		t.k = uint(m.literal(call.Args, 1, 0))
	case "lhist":
		t.low, t.high, t.step = int64(m.literal(call.Args, 1, 0)), int64(m.literal(call.Args, 2, 0)), int64(m.literal(call.Args, 3, 1))
	case "tseries":
		t.low, t.high = int64(max(m.literal(call.Args, 1, 1), 1)), int64(m.literal(call.Args, 2, 1))
		if len(call.Args) > 3 {
			t.by = m.expr(call.Args[3]).s
		}
	}
	if c := m.make(call, t, key); c != nil {
		t.update(c, call.Name, n, signed, seriesTime(m))
	}
}

// scalar is the number that a map without keys has.
func scalar(t *table) uint64 {
	if c := t.get(val{}); c != nil {
		return c.value(t.Value).n
	}
	return 0
}

// seriesTime is the time of a value in a time series: that of the hit, or now.
func seriesTime(m *library) time.Time {
	switch t := m.maps[m.opts.TimeMap]; {
	case t != nil:
		return time.Unix(0, int64(scalar(t)))
	case m.hit != nil:
		return time.Unix(0, int64(m.hit.Time+m.wall.at(m.hit.Time)))
	}
	return m.opts.Now()
}

// updater is the call that updates a map, as a value or at the end of a block.
func updater(x script.Expr) *script.Call {
	for {
		switch y := x.(type) {
		case *script.Call:
			if words.FindMapFunc(y.Name) != nil {
				return y
			}
			return nil
		case *script.Block:
			if y.Value == nil {
				return nil
			}
			x = y.Value
		default:
			return nil
		}
	}
}

// end ends the script. Hits from now on are not executed.
func (m *Machine) end(status int) {
	m.ended, m.status = true, status
	switch {
	case m.hit != nil:
		m.endTime = m.hit.Time
		if m.iterating && iterated(m.hit) {
			return
		}
	case m.opts.Mono != nil:
		m.endTime = m.opts.Mono()
	}
	if m.over != nil {
		m.over()
	}
}

// iterated reports whether a hit is of an iterator. All objects that it goes through are one event: exit() ends the script behind the
// last one.
func iterated(h *Hit) bool { return h.Site.Point.Provider.Name == "iter" }

// Iterating is called when iterators begin to go through their objects, and when they have.
func Iterating(m *Machine, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.iterating = on
	if !on && m.ended && m.over != nil {
		m.over()
	}
}

// same is a pointer in another address space.
func same(m *library, _ script.Expr, args []script.Expr) val { return m.expr(args[0]) }

// macaddr is a hardware address.
func macaddr(m *library, _ script.Expr, args []script.Expr) val {
	var b []byte
	switch t := m.typeOf(args[0]); {
	case t.Kind != types.Pointer:
		b = bytesOf(m.expr(args[0]), t)
	case m.hit == nil:
		b = m.bytesAt(args[0], m.expr(args[0]).n, 6)
	default:
		b = []byte(m.chars(args[0]))
	}
	b = append(b, make([]byte, 6)...)
	return val{s: fmt.Sprintf("%02X:%02X:%02X:%02X:%02X:%02X", b[0], b[1], b[2], b[3], b[4], b[5])}
}

func (m *library) exit(_ script.Expr, args []script.Expr) val {
	m.end(int(int32(m.literal(args, 0, 0))))
	abandon(nil)
	return val{}
}

// formatted is the text of printf and the like.
func (m *library) formatted(args []script.Expr) string {
	f, err := printf.Parse(m.p.Consts[args[0]].Str)
	if err != nil {
		panic("BUG: a format that the checker did not refuse: " + err.Error())
	}
	vals := make([]printf.Value, len(args)-1)
	for i, a := range args[1:] {
		vals[i] = printed(m.expr(a), m.typeOf(a))
	}
	return f.Format(vals)
}

func (m *library) printf(_ script.Expr, args []script.Expr) val {
	m.line("printf", m.formatted(args))
	return val{}
}

// message is errorf or warnf.
func (m *library) message(at script.Expr, args []script.Expr) val {
	text, kind, word := m.formatted(args), "warnf", "warning"
	if strings.HasPrefix(at.(*script.Call).Name, "errorf") {
		kind, word = "errorf", "error"
		m.errors++
	}
	if kind == "errorf" || !m.opts.NoWarn {
		m.say(at, kind, word, text)
	}
	return val{}
}

// expansions writes where the macros were called in which a message is, the innermost first.
func expansions(m *library, at script.Node, word string) {
	for {
		call, ok := at.(*script.Call)
		if !ok || m.p.Expanded[call] == nil {
			return
		}
		at = m.p.Expanded[call]
		d := at.File().At(at.Span(), "expanded from", "")
		_, _, _, shown := d.Line()
		fmt.Fprintf(m.opts.Err, "%s\n%s\n", m.opts.Message(d, word), shown)
	}
}

// say writes an error or warning with its position.
func (m *library) say(at script.Node, kind, word, text string) {
	line, col := position(at)
	if m.opts.JSON {
		fmt.Fprintf(m.opts.Out, "{\"type\": %q, \"msg\": %s, \"filename\": %s, \"line\": %d, \"col\": %d}\n", kind, printf.Quote(text), printf.Quote(fileName(at)), line, col)
		return
	}
	if m.opts.Message != nil {
		fmt.Fprintln(m.opts.Err, m.opts.Message(at.File().At(at.Span(), text, ""), word))
		expansions(m, at, word)
		return
	}
	fmt.Fprintf(m.opts.Err, "%s:%d:%d: %s: %s\n", at.File().Name, line, col, word, text)
}

func (m *library) assert(at script.Expr, args []script.Expr) val {
	if !m.truth(args[0]) {
		m.errors++
		m.say(at, "errorf", "error", "assert failed: "+cstr(m.expr(args[1]).s))
		m.end(1)
		abandon(nil)
	}
	return val{}
}

func (m *library) time(_ script.Expr, args []script.Expr) val {
	layout := "%H:%M:%S\n"
	if len(args) > 0 {
		layout = m.expr(args[0]).s
	}
	m.line("time", strftime(layout, m.opts.Now()))
	return val{}
}

func (m *library) strftime(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[1]).n
	at := time.Unix(0, int64(n))
	if c := m.typeOf(args[1]).Clock; c != "tai" && c != "sw_tai" {
		at = m.boot.Add(time.Duration(n))
	}
	return val{s: strftime(m.expr(args[0]).s, at)}
}

func (m *library) cat(at script.Expr, args []script.Expr) val {
	name := m.formatted(args)
	f, err := os.Open(name)
	if err != nil {
		m.say(at, "errorf", "error", err.Error())
		return val{}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, m.p.Config.Int("max_cat_bytes")))
	if err != nil {
		m.say(at, "errorf", "error", err.Error())
	}
	m.line("cat", string(text))
	return val{}
}

func (m *library) system(at script.Expr, args []script.Expr) val {
	out, err := m.opts.System(m.formatted(args))
	if err != nil {
		m.say(at, "warnf", "warning", err.Error())
	}
	m.line("syscall", string(out))
	return val{}
}

// chars is a string, or an array of characters.
func (m *library) chars(x script.Expr) string {
	v, t := m.expr(x), m.typeOf(x)
	if m.hit != nil { // the string at a pointer
		if s, st, ok := m.recorded(x, m.turn); ok && st.Kind == types.String {
			return s.s
		}
	}
	switch t.Kind {
	case types.String, types.Buffer:
		return v.s
	case types.Array:
		b := make([]byte, 0, len(v.list))
		for _, e := range v.list {
			var raw [8]byte
			binary.LittleEndian.PutUint64(raw[:], e.n)
			b = append(b, raw[:t.Elem.Size]...)
		}
		return string(b)
	case types.Pointer, types.Int:
		return m.textAt(x, v.n, m.p.Config.Int("max_strlen"))
	}
	abandon(unavailable(x, "memory"))
	return ""
}

// str is str() or buf() of a string, an array or an address.
func (m *library) str(at script.Expr, args []script.Expr) val {
	if m.hit == nil && m.typeOf(args[0]).Is(types.Int, types.Pointer) && m.p.Consts[args[0]] == nil {
		return copied(m, at.(*script.Call), m.expr(args[0]).n)
	}
	s := m.chars(args[0])
	if strings.HasPrefix(at.(*script.Call).Name, "str") {
		s = cstr(s)
	}
	size := uint64(m.typeOf(at).Size)
	if len(args) > 1 {
		size = min(size, m.expr(args[1]).n)
	}
	if uint64(len(s)) < size && strings.HasPrefix(at.(*script.Call).Name, "buf") {
		s += strings.Repeat("\x00", int(min(size, uint64(m.typeOf(args[0]).Size)))-len(s))
	}
	return val{s: s[:min(uint64(len(s)), size)]}
}

// copied is str() or buf() of an address.
func copied(m *library, at *script.Call, addr uint64) val {
	t := m.typeOf(at)
	size := t.Size
	if len(at.Args) > 1 {
		size = int64(min(uint64(size), m.expr(at.Args[1]).n))
	}
	if t.Kind == types.Buffer {
		return val{s: string(m.bytesAt(at.Args[0], addr, size))}
	}
	if len(at.Args) > 1 { // a length that is given counts the NUL
		size--
	}
	v := val{s: m.textAt(at.Args[0], addr, size+1)}
	if int64(len(v.s)) > size {
		v.s = v.s[:max(size, 0)]
		if len(at.Args) == 1 {
			v.tail = m.p.Config.Word("str_trunc_trailer")
		}
	}
	return v
}

func (m *library) strlen(_ script.Expr, args []script.Expr) val {
	return num(uint64(len(cstr(m.chars(args[0])))))
}

func (m *library) strcap(_ script.Expr, args []script.Expr) val {
	return num(uint64(m.typeOf(args[0]).Size))
}

func (m *library) strncmp(_ script.Expr, args []script.Expr) val {
	a, b, n := cstr(m.chars(args[0])), cstr(m.chars(args[1])), m.expr(args[2]).n
	a, b = a[:min(uint64(len(a)), n)], b[:min(uint64(len(b)), n)]
	return truth(a != b)
}

func (m *library) strstr(_ script.Expr, args []script.Expr) val {
	return num(uint64(strings.Index(cstr(m.chars(args[0])), cstr(m.chars(args[1])))))
}

func (m *library) strcontains(_ script.Expr, args []script.Expr) val {
	return truth(strings.Contains(cstr(m.chars(args[0])), cstr(m.chars(args[1]))))
}

func (m *library) strConcat(at script.Expr, args []script.Expr) val {
	s := cstr(m.chars(args[0])) + cstr(m.chars(args[1]))
	return val{s: s[:min(int64(len(s)), m.typeOf(at).Size-1)]}
}

func (m *library) strerror(_ script.Expr, args []script.Expr) val {
	n := int32(m.expr(args[0]).n)
	if n == 0 {
		return val{s: "Success"}
	}
	text := syscall.Errno(n).Error()
	return val{s: strings.ToUpper(text[:1]) + text[1:]}
}

func (m *library) signalName(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	switch {
	case n < uint64(len(signalTexts)) && signalTexts[n] != "":
		return val{s: signalTexts[n]}
	case n >= 32 && n <= 64:
		return val{s: "Unknown signal " + strconv.FormatUint(n, 10)}
	case n == 0:
		return val{s: "Unknown signal 0"}
	}
	return val{s: "N/A"}
}

func (m *library) syscallName(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[0]).n
	if name := syscalls.Name(n); name != "" {
		return val{s: name}
	}
	return val{s: "unknown"}
}

func (m *library) bswap(at script.Expr, args []script.Expr) val {
	t := m.typeOf(at)
	return num(bits.ReverseBytes64(m.expr(args[0]).n) >> (64 - 8*uint(t.Size)))
}

func (m *library) ntop(_ script.Expr, args []script.Expr) val {
	x := args[len(args)-1]
	var raw []byte
	if t := m.typeOf(x); t.Kind == types.Int {
		raw = binary.LittleEndian.AppendUint32(nil, uint32(m.expr(x).n))
	} else {
		raw = []byte(m.chars(x))
		raw = append(raw, make([]byte, max(int(t.Size)-len(raw), 0))...)
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return val{s: ""}
	}
	return val{s: a.String()}
}

func (m *library) pton(at script.Expr, args []script.Expr) val {
	a, err := netip.ParseAddr(m.expr(args[0]).s)
	if err != nil {
		panic("BUG: an address that the checker did not refuse: " + err.Error())
	}
	v := val{}
	for _, b := range a.AsSlice() {
		v.list = append(v.list, num(uint64(b)))
	}
	return v
}

func (m *library) isErr(_ script.Expr, args []script.Expr) val {
	n := int64(m.expr(args[0]).n)
	return truth(n < 0 && n >= -4095)
}

func (m *library) memcmp(_ script.Expr, args []script.Expr) val {
	n := m.expr(args[2]).n
	a, b := bytesOf(m.expr(args[0]), m.typeOf(args[0])), bytesOf(m.expr(args[1]), m.typeOf(args[1]))
	a, b = a[:min(uint64(len(a)), n)], b[:min(uint64(len(b)), n)]
	return num(uint64(strings.Compare(string(a), string(b))))
}

// bytesOf is a value as it lies in memory.
func bytesOf(v val, t *types.Type) []byte {
	out := make([]byte, t.Size)
	switch t.Kind {
	case types.Float:
		binary.LittleEndian.PutUint64(out, math.Float64bits(v.f))
	case types.String, types.Buffer, types.Struct:
		copy(out, v.s)
	case types.Array:
		for i, e := range v.list {
			copy(out[int64(i)*t.Elem.Size:], bytesOf(e, t.Elem))
		}
	case types.Tuple, types.Record:
		for i, f := range t.Fields {
			copy(out[f.Offset:], bytesOf(v.list[i], f.Type))
		}
	default:
		var raw [8]byte
		binary.LittleEndian.PutUint64(raw[:], v.n)
		copy(out, raw[:])
	}
	return out
}

func userName(uid uint64) string {
	u, err := user.LookupId(strconv.FormatUint(uid, 10))
	if err != nil {
		return strconv.FormatUint(uid, 10)
	}
	return u.Username
}
