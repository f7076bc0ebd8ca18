package torture

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// A life is a scenario of programs/*.c, selected by its name. Each runs untraced and then traced in several
// ways; output and end must be the same, and the number of hits of step must be the program's own count.

// lifeProgram is a program with lives, built in one way.
type lifeProgram struct {
	name, cc, src string
	flags         []string
	only          []string // these lives; nil: all
}

var lifePrograms = []lifeProgram{
	{"processes", "gcc", "processes.c", []string{"-g", "-O2", "-pthread", "-Wno-return-type"}, nil},
	{"signals", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread"}, nil},
	{"memory", "gcc", "memory.c", []string{"-g", "-O2", "-pthread", "-ldl"}, nil},
	{"rights", "gcc", "rights.c", []string{"-g", "-O2", "-pthread"}, nil},
	{"hostile", "gcc", "hostile.c", []string{"-g", "-O2", "-pthread", "-Wno-return-type"}, nil},
	{"unusual memory and limits", "gcc", "unusual.c", []string{"-g", "-O2", "-pthread"}, nil},
	{"exceptions", "g++", "throws.cc", []string{"-g", "-O2", "-pthread"}, nil},
	{"coroutines, asynchronous I/O", "g++", "async.cc", []string{"-std=c++20", "-g", "-O2", "-pthread"}, nil},
}

// some are lives that every program has.
var some = []string{"every-signal", "jumps-out", "skips", "contexts", "alternate-stack", "nests", "dies-segv", "cancels"}

// writable is the kind whose text is writable: the loader maps it so.
const writable = "writable text"

// makeWritable sets PF_W in the headers of segments with code.
func makeWritable(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	const flagX, flagW = 1, 2
	at, size := le.Uint64(b[32:]), uint64(le.Uint16(b[54:])) // e_phoff, e_phentsize
	for range le.Uint16(b[56:]) {                            // e_phnum
		if le.Uint32(b[at:]) == uint32(elf.PT_LOAD) && b[at+4]&flagX != 0 {
			b[at+4] |= flagW
		}
		at += size
	}
	if err := os.WriteFile(file, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// kinds are the ways to build and link a program.
var kinds = []lifeProgram{
	{"-O0", "gcc", "sigs.c", []string{"-g", "-O0", "-pthread"}, some},
	{"-O3 -flto", "gcc", "sigs.c", []string{"-g", "-O3", "-flto", "-pthread"}, some},
	{"clang", "clang", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wno-infinite-recursion"}, some},
	{"no debug information", "gcc", "sigs.c", []string{"-O2", "-pthread"}, some},
	{"ET_EXEC", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-no-pie"}, some},
	{"ET_EXEC at 64 KiB", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-no-pie", "-Wl,-Ttext-segment=0x10000"}, some},
	{"ET_EXEC below 2 GiB", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-no-pie", "-Wl,-Ttext-segment=0x70000000"}, some},
	{"static", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-static"}, some},
	{"static-pie", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-static-pie"}, some},
	{"musl", "musl-gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-DNO_CONTEXTS"}, some},
	{"musl static", "musl-gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-static", "-DNO_CONTEXTS"}, some},
	{"CET", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-fcf-protection=full", "-Wl,-z,ibt,-z,shstk"}, some},
	{"no CET", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-fcf-protection=none"}, some},
	{"noseparate-code", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wl,-z,noseparate-code"}, some},
	{"separate-code", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wl,-z,separate-code"}, some},
	{"alignment of 2 MiB", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wl,-z,max-page-size=0x200000"}, some},
	{writable, "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wl,--build-id=none"}, some},
	{"executable stack", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wl,-z,execstack"}, some},
	{"now, relro", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-Wl,-z,now,-z,relro"}, some},
	{"no frame pointers, aligned", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-falign-functions=64", "-fomit-frame-pointer", "-fno-plt"}, some},
	{"-Os", "gcc", "sigs.c", []string{"-g", "-Os", "-pthread"}, some},
	{"AVX-512 or what there is", "gcc", "sigs.c", []string{"-g", "-O3", "-pthread", "-march=native"}, some},
	{"split sections, stack clash", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-ffunction-sections", "-fstack-clash-protection", "-fstack-protector-all"}, some},
	{"instrumented entries", "gcc", "sigs.c", []string{"-g", "-O2", "-pthread", "-fpatchable-function-entry=8,2"}, some},
}

// way is how a life is traced.
type way struct {
	name   string
	attach bool
	detach bool // in the middle
	every  bool // every instruction of the program, not the functions' entries only
	// process: --engine process, which uses no uprobes if no tactic is avoided.
	process bool
	cond    string
	list    string // what is collected at step
	more    string // further options of jalon
}

var ways = []way{
	{name: "launched, false", cond: " if ($sp == 1)"},
	{name: "launched, true", list: "$args, $regs"},
	{name: "launched, true, stacks, no clock", cond: " if ($sp != 1)", list: "$args, $bt", more: "--stack walk --clock none"},
	{name: "launched, every instruction", every: true, cond: " if ($sp == 1)"},
	{name: "attached, false", attach: true, cond: " if ($sp == 1)"},
	{name: "attached, true", attach: true, list: "$args, *(long *)$sp"},
	{name: "attached, true, stacks, no clock", attach: true, cond: " if ($sp != 1)", list: "$bt", more: "--stack walk --clock none"},
	{name: "attached, every instruction", attach: true, every: true, cond: " if ($sp == 1)"},
	{name: "in the process, false", process: true, cond: " if ($sp == 1)"},
	{name: "in the process, stacks, coarse clock", process: true, list: "$bt", more: "--clock coarse"},
	{name: "let go, false", attach: true, detach: true, cond: " if ($sp == 1)"},
	{name: "let go, every instruction", attach: true, detach: true, every: true, cond: " if ($sp == 1)"},
}

// wayOf is the way of that name.
func wayOf(name string) way {
	return ways[slices.IndexFunc(ways, func(w way) bool { return w.name == name })]
}

var tactics = []string{"0", "3", "7"} // the tactics that --avoid forbids: none, plain jumps, all jumps

// known are lives that tracing is known to affect, with the reason. They run too, and are counted in a
// separate table.
var known = map[string]string{
	"defaults-trap":     "SIGTRAP is set to its default action after arming: after an int3 of ours it is taken for ignored (RATIONALE.md says why it cannot be known)",
	"closes-areas":      closed,
	"runs-closed":       closed,
	"debugs-breakpoint": "a site became a uprobe: the kernel takes a debugger's int3 at it, in any process that has had uprobes, for its own (--engine process makes none)",
}

const closed = "the program makes jalon's code inaccessible while code that is traced runs: the sites are removed with a warning, and later hits are not counted"

// refusable are lives to which jalon may refuse to attach, with the words of the reason. They live on untraced.
var refusable = map[string]string{
	"no-space": "cannot allocate memory",
	"no-data":  "cannot allocate memory",
	"no-files": "too many open files",
	// Only where every instruction is a place: some would be uprobes, or the file has another name.
	"sealed":      "not installed",
	"from-memory": "has no code of",
}

// attachedOnly are lives whose memory is laid out before jalon comes; jalon may have memory there if it has started the program.
var attachedOnly = []string{"grows-down-near"}

// execsFirst are lives that begin with an exec, which ends the tracing of a program that jalon has started.
var execsFirst = []string{"from-memory", "no-randomize", "readable-code"}

// built is a life program that has been compiled.
type built struct {
	lifeProgram
	bin     string
	lives   []string
	plugin  string
	placing sync.Mutex
	places  map[string]string // every instruction, by the avoided tactics
}

func build(t *testing.T, p lifeProgram, plugin string) *built {
	t.Helper()
	b := &built{lifeProgram: p, bin: compile(t, p.cc, p.src, p.flags...), plugin: plugin, places: map[string]string{}}
	if p.name == writable {
		makeWritable(t, b.bin)
	}
	out, err := exec.Command(b.bin).Output()
	if err != nil {
		t.Fatalf("%s: %v", b.bin, err)
	}
	for _, l := range strings.Fields(string(out)) {
		if p.only == nil || slices.Contains(p.only, l) {
			b.lives = append(b.lives, l)
		}
	}
	return b
}

// every makes the file with every instruction of the program's own functions.
func (b *built) every(t *testing.T, avoid string) string {
	t.Helper()
	b.placing.Lock()
	defer b.placing.Unlock()
	if file := b.places[avoid]; file != "" {
		return file
	}
	var own []uint64
	for _, f := range functionsOf(t, b.bin) {
		own = append(own, f...)
	}
	file := filepath.Join(filepath.Dir(b.bin), "every"+avoid)
	for {
		placesFile(t, file, b.bin, own, form{cond: "$sp == 1"})
		r := testkit.Start(t, jalonBin, "trace", "-q", "-f", "none", "--engine", "auto", "--avoid", avoid, "-x", file, "--", b.bin).Wait()
		no := refused(r.Errs.String())
		if len(no) == 0 {
			b.places[avoid] = file
			return file
		}
		own = slices.DeleteFunc(own, func(a uint64) bool { return no[a] })
	}
}

// functionsOf are the instructions of the functions in the source file of a program with
// symbols; libraries that are linked in are left out.
func functionsOf(t *testing.T, bin string) map[string][]uint64 {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "-j", ".text", bin).Output()
	if err != nil {
		t.Fatalf("objdump: %v", err)
	}
	static := len(out) > 3<<20
	funcs := map[string][]uint64{}
	name := ""
	for line := range strings.Lines(string(out)) {
		if i := strings.Index(line, " <"); i > 0 && strings.HasSuffix(line, ">:\n") {
			name = line[i+2 : len(line)-3]
			continue
		}
		addr, _, ok := strings.Cut(line, ":\t")
		if !ok || name == "" || static && !ownFunctions[name] {
			continue
		}
		if a, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64); err == nil {
			funcs[name] = append(funcs[name], a)
		}
	}
	return funcs
}

// ownFunctions are functions of sigs.c, for programs with a libc in them.
var ownFunctions = map[string]bool{
	"step": true, "quiet": true, "count": true, "handle": true, "every_signal": true, "nested": true, "nests": true, "guarded": true,
	"alternate": true, "jump": true, "touch": true, "jumps_out": true, "skip": true, "faults": true, "skips": true, "routine": true,
	"contexts": true, "dies": true, "work": true, "quiet_work": true, "lead": true, "main": true, "cancel_thread": true, "cancels": true,
}

// ending is how a life ended.
type ending struct {
	out    string
	status int
}

// steps is the life's own count of calls of step; -1: none printed.
func (e ending) steps() int64 {
	for line := range strings.Lines(e.out) {
		var n int64
		if _, err := fmt.Sscanf(line, "steps %d", &n); err == nil {
			return n
		}
	}
	return -1
}

func (b *built) cmd(life string, wait bool, wrap ...string) *exec.Cmd {
	argv := append(append([]string{}, wrap...), b.bin, life)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LIFE_PLUGIN="+b.plugin, "LC_ALL=C")
	if wait {
		cmd.Env = append(cmd.Env, "LIFE_WAIT=1")
	}
	cmd.Dir = tempDir
	return cmd
}

func (b *built) untraced(t *testing.T, life string) ending {
	p := testkit.StartCmd(t, b.cmd(life, false)).Wait()
	return ending{p.Out.String(), p.Status}
}

// args are jalon's arguments for a way to trace.
func (b *built) args(t *testing.T, w way, avoid string) []string {
	base := filepath.Base(b.bin)
	engine := "auto" // with uprobes
	if w.process {
		engine = "process"
	}
	args := []string{jalonBin, "trace", "-f", "none", "-v", "--engine", engine, "--avoid", avoid}
	args = append(args, strings.Fields(w.more)...)
	if w.every {
		args = append(args, "-x", b.every(t, avoid))
	} else if w.list == "" && (long || !slices.Contains(b.flags, "-static") && !slices.Contains(b.flags, "-static-pie")) {
		args = append(args, "uprobe:"+base+":*"+w.cond)
	}
	args = append(args, "uprobe:"+base+":step"+w.cond)
	if w.list != "" {
		args = append(args, "-c", w.list)
	}
	return args
}

// lead runs a life traced, and returns what was wrong; "" = nothing.
func (b *built) lead(t *testing.T, life string, w way, avoid string, want ending) (r row, wrong string) {
	var got ending
	var j *testkit.Process
	if w.attach {
		got, j = b.attached(t, life, w, avoid)
	} else {
		j = testkit.StartCmd(t, b.cmd(life, false, append(b.args(t, w, avoid), "--")...)).Wait()
		got = ending{j.Out.String(), j.Status}
	}
	sum := summaryText(j.Errs.String())
	r = row{runs: 1, sites: sum.sites, hits: sum.hits}
	switch {
	case got.out != want.out:
		wrong = "the output differs " + difference(got.out, want.out)
	case got.status != want.status:
		wrong = fmt.Sprintf("status %d, untraced %d", got.status, want.status)
	case w.detach: // how much was seen is chance
	case !w.attach && slices.Contains(execsFirst, life):
	case want.steps() >= 0 && sum.steps >= 0 && sum.steps != want.steps():
		wrong = fmt.Sprintf("jalon counts %d hits of step, the program %d", sum.steps, want.steps())
	}
	if wrong != "" {
		wrong += "\njalon: " + testkit.Tail(j.Errs.String())
	}
	return r, wrong
}

// attached starts the program, attaches when it is ready, and lets it go on when
// everything is armed.
func (b *built) attached(t *testing.T, life string, w way, avoid string) (ending, *testkit.Process) {
	x := testkit.StartTold(t, b.cmd(life, true))
	x.AwaitOut("ready\n")
	j := testkit.Start(t, append(b.args(t, w, avoid), "-p", fmt.Sprint(x.Pid()))...)
	refused := refusable[life] != "" && jRefuses(t, j, refusable[life])
	if !refused {
		j.Says("armed after")
	}
	x.Send("go")
	if w.detach && !refused {
		time.Sleep(time.Duration(rand.Int64N(int64(15 * time.Millisecond)))) // any moment will do
		_ = syscall.Kill(j.Pid(), syscall.SIGINT)
	}
	if !within(x) { // Wait fails the test; the failure shows what jalon did
		t.Logf("jalon: %s", testkit.Tail(j.Errs.String()))
	}
	x.Wait()
	j.Wait()
	out, _ := strings.CutPrefix(x.Out.String(), "ready\n")
	return ending{out, x.Status}, j
}

// jRefuses waits until jalon has armed, or has refused to for this reason.
func jRefuses(t *testing.T, j *testkit.Process, why string) bool {
	t.Helper()
	select {
	case <-j.Errs.Has("armed after"):
		return false
	case <-j.Ended:
	case <-time.After(testkit.Patience):
		t.Fatalf("jalon neither arms nor refuses: %s", testkit.Tail(j.Errs.String()))
	}
	if text := j.Errs.String(); j.Status == 0 || !strings.Contains(text, why) {
		t.Errorf("jalon ends with status %d, and not because: %s\n%s", j.Status, why, testkit.Tail(text))
	}
	return true
}

// within reports whether a process ends in a time that is enough for every life.
func within(p *testkit.Process) bool {
	select {
	case <-p.Ended:
		return true
	case <-time.After(testkit.Patience / 2):
		return false
	}
}

// sums has the numbers in the text of the summary.
type sums struct {
	sites, hits uint64
	steps       int64
}

// summaryText parses the table after "place hits recorded".
func summaryText(stderr string) (s sums) {
	s.sites, s.steps = uint64(strings.Count(stderr, "jalon: site ")), -1
	in := false
	for line := range strings.Lines(stderr) {
		f := strings.Fields(line)
		switch {
		case len(f) > 2 && f[0] == "place" && f[1] == "hits":
			in = true
		case in && len(f) >= 6:
			hits, err := strconv.ParseUint(f[len(f)-5], 10, 64)
			if err != nil {
				continue
			}
			s.hits += hits
			if strings.HasSuffix(f[0], ":step") {
				s.steps = int64(hits)
			}
		}
	}
	return s
}

// combinations are all ways and tactics, or, in the short form, those that take little time: an int3 at
// every instruction takes minutes.
func combinations() (list [][2]int) {
	only := os.Getenv("JALON_TORTURE_WAY")
	for i, w := range ways {
		if long && only != "" && w.name != only {
			continue
		}
		for k := range tactics {
			if long || !w.every || k == 0 {
				list = append(list, [2]int{i, k})
			}
		}
	}
	return list
}

// chosen are the combinations for each life of a program: all of them, or, in the short
// form, every third day another one. Of a program that is one of many kinds it is one
// life.
func chosen(b *built) map[string][][2]int {
	out, list := map[string][][2]int{}, combinations()
	switch {
	case long:
		for _, life := range b.lives {
			out[life] = list
		}
	case b.only != nil:
		if n, ok := turn(b.name, 3, len(b.lives)*len(list)); ok {
			out[b.lives[n%len(b.lives)]] = list[n/len(b.lives)%len(list):][:1]
		}
	default:
		for _, life := range b.lives {
			if n, ok := turn(b.name+life, 3, len(list)); ok {
				out[life] = list[n : n+1]
			}
		}
	}
	return out
}

// all leads every life of the programs.
func all(t *testing.T, table string, list []lifeProgram) {
	plugin := compile(t, "gcc", "plugged.c", "-g", "-O2", "-shared", "-fPIC")
	for _, p := range list {
		t.Run(p.name, func(t *testing.T) {
			if !long && p.only != nil {
				if _, ok := turn(p.name, 3, 1); !ok {
					return
				}
			}
			if !needed(t, p.cc, "objdump") {
				return
			}
			b := build(t, p, plugin)
			combinations := chosen(b)
			for _, life := range b.lives {
				if len(combinations[life]) == 0 {
					continue
				}
				t.Run(life, func(t *testing.T) {
					if !long {
						t.Parallel()
					}
					b.leadAll(t, table, life, combinations[life])
				})
			}
		})
	}
}

// counted is lead, and counts a life that ends the test, because it hangs, as harmed.
func (b *built) counted(t *testing.T, table, life string, w way, avoid string, want ending) (r row, wrong string) {
	t.Helper()
	over := false
	defer func() {
		if !over {
			results.add(t, row{table: table, name: b.name, runs: 1, harmed: 1})
		}
	}()
	r, wrong = b.lead(t, life, w, avoid, want)
	r.table, r.name, over = table, b.name, true
	return r, wrong
}

// leadAll leads a life in several combinations of ways and tactics.
func (b *built) leadAll(t *testing.T, table, life string, combinations [][2]int) {
	want := b.untraced(t, life)
	for _, c := range combinations {
		w, avoid := ways[c[0]], tactics[c[1]]
		if !w.attach && slices.Contains(attachedOnly, life) {
			continue
		}
		t.Logf("%s, --avoid %s", w.name, avoid)
		r, wrong := b.counted(t, table, life, w, avoid, want)
		if why := known[life]; why != "" && wrong != "" && (life != "debugs-breakpoint" || !w.process) {
			results.add(t, row{table: "known limits", name: life, runs: 1, harmed: 1, note: why})
			wrong = ""
		}
		if wrong != "" {
			r.harmed = 1
			t.Errorf("%s, --avoid %s: %s", w.name, avoid, wrong)
		}
		results.add(t, r)
	}
}

// Former failures, in the combination that showed them.
func TestFound(t *testing.T) {
	b := build(t, lifePrograms[1], "")
	others := []*built{build(t, lifePrograms[2], ""), build(t, lifePrograms[3], ""), build(t, lifePrograms[4], "")}
	inProcess := way{name: "in the process, false", process: true, cond: " if ($sp == 1)"}
	attachedFalse := wayOf("attached, false")
	launchedFalse, launchedEvery := wayOf("launched, false"), wayOf("launched, every instruction")
	for _, x := range []struct {
		life  string
		way   way
		avoid string
	}{
		{"every-signal", launchedFalse, "7"}, // int3 in a handler of SIGTRAP that was set after arming
		{"skips", launchedFalse, "3"},
		{"ignores-trap", launchedFalse, "7"}, // the kernel resets an ignored SIGTRAP at an int3 of jalon
		{"gives-up", launchedFalse, "7"},
		{"profiles", launchedFalse, "0"},         // of 500 ticks 437 were in hit programs
		{"profiles", launchedFalse, "7"},         // a thread that comes from one int3 to the next is never interrupted in between
		{"resumes-behind", launchedEvery, "0"},   // a handler continues after the first of the instructions under a jump
		{"dies-trap", launchedEvery, "3"},        // jalon's int3 over the program's int3, without a handler
		{"moves-copy-over", launchedEvery, "0"},  // a copy of a page has the kernel's breakpoint of a uprobe
		{"debugs-breakpoint", inProcess, "0"},    // a debugger's int3 at a place that would be a uprobe
		{"reuses-area", attachedFalse, "0"},      // memory that was a struct rseq has another use
		{"gives-areas-back", launchedFalse, "0"}, // sequences are not restarted any more
		{"spoils-areas", attachedFalse, "0"},
		{"swaps-areas", launchedFalse, "0"},
	} {
		t.Run(x.life, func(t *testing.T) {
			b := b
			for _, o := range others {
				if slices.Contains(o.lives, x.life) {
					b = o
				}
			}
			r, wrong := b.lead(t, x.life, x.way, x.avoid, b.untraced(t, x.life))
			if wrong != "" {
				r.harmed = 1
				t.Errorf("%s, --avoid %s: %s", x.way.name, x.avoid, wrong)
			}
			r.table, r.name = "lives of processes", b.name
			results.add(t, r)
		})
	}
}

// TestInaccessible: a program that makes jalon's code inaccessible lives on, and jalon says that hits are not counted any more.
func TestInaccessible(t *testing.T) {
	b := build(t, lifePrograms[slices.IndexFunc(lifePrograms, func(p lifeProgram) bool { return p.src == "unusual.c" })], "")
	want := b.untraced(t, "runs-closed")
	x := testkit.StartTold(t, b.cmd("runs-closed", true))
	x.AwaitOut("ready\n")
	j := testkit.Start(t, jalonBin, "trace", "-f", "none", "-v", "-p", fmt.Sprint(x.Pid()), "step", "quiet")
	j.AwaitErr("armed after")
	x.Send("go")
	x.Wait()
	j.Wait()
	if got := (ending{strings.TrimPrefix(x.Out.String(), "ready\n"), x.Status}); got != want {
		t.Errorf("%+v, untraced %+v", got, want)
	}
	if !strings.Contains(j.Errs.String(), "made jalon's code inaccessible") {
		t.Errorf("no warning: %s", testkit.Tail(j.Errs.String()))
	}
}

func TestLives(t *testing.T) { all(t, "lives of processes", lifePrograms) }
func TestKinds(t *testing.T) { all(t, "kinds of programs", kinds) }
