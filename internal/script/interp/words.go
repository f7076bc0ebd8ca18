package interp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/lang/script"
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
