package printk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// instance is a trace buffer of the test's own.
type instance struct {
	t   *testing.T
	dir string
}

func newInstance(t *testing.T, tfs *tracefs.FS) *instance {
	t.Helper()
	in := &instance{t, filepath.Join(tfs.Root(), "instances", fmt.Sprintf("jalon-printk-%d", os.Getpid()))}
	if err := os.Mkdir(in.dir, 0o755); err != nil {
		t.Skipf("needs root, to make a trace buffer: %v", err)
	}
	t.Cleanup(func() {
		in.write("tracing_on", "0")
		in.write("events/enable", "0")
		if err := os.Remove(in.dir); err != nil {
			t.Errorf("removing the trace buffer: %v", err)
		}
	})
	return in
}

func (in *instance) write(file, text string) {
	in.t.Helper()
	if err := os.WriteFile(filepath.Join(in.dir, file), []byte(text), 0); err != nil {
		in.t.Errorf("writing %q: %v", text, err)
	}
}

// record is one record of the raw buffer.
type record struct {
	time uint64 // ns
	data []byte
}

// The header of a page: time stamp and length of the data, whose high bits are
// flags (events/header_page).
const (
	pageHeader = 16
	commitMask = 1<<20 - 1
)

// Types of entries in a page (events/header_event); smaller ones are lengths in words.
const (
	entryPadding = 29
	entryExtend  = 30
	entryStamp   = 31
)

// readPages reads and consumes one processor's buffer.
func (in *instance) readPages(cpu string) []record {
	in.t.Helper()
	fd, err := unix.Open(filepath.Join(in.dir, "per_cpu", cpu, "trace_pipe_raw"), unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		in.t.Fatal(err)
	}
	defer unix.Close(fd)
	var out []record
	page := make([]byte, os.Getpagesize())
	for {
		n, err := unix.Read(fd, page)
		if errors.Is(err, unix.EAGAIN) || err == nil && n == 0 {
			return out
		}
		if err != nil {
			in.t.Fatal(err)
		}
		out = append(out, parsePage(in.t, page[:n])...)
	}
}

func parsePage(t *testing.T, page []byte) (out []record) {
	now := binary.LittleEndian.Uint64(page)
	commit := binary.LittleEndian.Uint64(page[8:])
	if commit&^commitMask != 0 {
		t.Errorf("records were lost: %#x", commit)
	}
	data := page[pageHeader : pageHeader+commit&commitMask]
	for len(data) >= 4 {
		head := binary.LittleEndian.Uint32(data)
		kind, delta := head&31, uint64(head>>5)
		data = data[4:]
		switch kind {
		case entryPadding:
			if delta == 0 {
				return out
			}
			now += delta
			data = data[binary.LittleEndian.Uint32(data):]
		case entryExtend:
			now += delta | uint64(binary.LittleEndian.Uint32(data))<<27
			data = data[4:]
		case entryStamp:
			// The time itself, without its highest bits.
			now = now&^(1<<59-1) | delta | uint64(binary.LittleEndian.Uint32(data))<<27
			data = data[4:]
		default:
			size := kind * 4
			from := uint32(0)
			if kind == 0 {
				// The length word counts itself.
				size, from = (binary.LittleEndian.Uint32(data)+3)&^3, 4
			}
			now += delta
			out = append(out, record{now, bytes.Clone(data[from:size])})
			data = data[size:]
		}
	}
	return out
}

// line is one event of the text.
type line struct {
	time string // seconds and microseconds as printed
	text string
}

var linePrefix = regexp.MustCompile(`^.{16,}?-\d+ +\[\d+\] \S+ +(\d+\.\d+): `)

// readText reads one processor's buffer as text and leaves it as it is.
func (in *instance) readText(cpu string) []line {
	in.t.Helper()
	f, err := os.Open(filepath.Join(in.dir, "per_cpu", cpu, "trace"))
	if err != nil {
		in.t.Fatal(err)
	}
	defer f.Close()
	var out []line
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		s := sc.Text()
		if m := linePrefix.FindStringSubmatchIndex(s); m != nil {
			out = append(out, line{s[m[2]:m[3]], s[m[1]:]})
			continue
		}
		switch {
		case len(out) > 0:
			out[len(out)-1].text += "\n" + s
		case !strings.HasPrefix(s, "#"):
			in.t.Errorf("no line of the kernel's: %q", s)
		}
	}
	if err := sc.Err(); err != nil {
		in.t.Fatal(err)
	}
	return out
}

// TestKernelText is the comparison with the kernel: the text that it makes of
// the records of a busy process, against ours of the same records.
func TestKernelText(t *testing.T) {
	tfs := running(t)
	byID := map[int]*tracefs.Event{}
	for _, ev := range allEvents(t, tfs) {
		byID[ev.ID] = ev
	}
	needRelease(t, 6, 18)
	in := newInstance(t, tfs)
	in.write("buffer_size_kb", "16384")
	in.write("options/overwrite", "0")
	in.write("options/hash-ptr", "0")
	traceChild(t, in)

	r := kernelResolver(t, tfs)
	c := &comparison{t: t, byID: byID, r: r, printers: map[int]*Printer{}, kinds: map[string]int{}, unknown: map[string]int{}}
	cpus, err := filepath.Glob(filepath.Join(in.dir, "per_cpu", "cpu*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range cpus {
		cpu := filepath.Base(dir)
		text := in.readText(cpu)
		raw := in.readPages(cpu)
		if len(text) != len(raw) {
			t.Errorf("%s: %d lines and %d records", cpu, len(text), len(raw))
		}
		learnBase(t, r, text)
		for i := range min(len(text), len(raw)) {
			c.compare(raw[i], text[i])
		}
	}
	c.report()
}

// needRelease skips on kernels whose text has other forms: before 6.18 the
// arguments of system calls have no 0x, and with hash-ptr off 6.1 leaves strings out.
func needRelease(t *testing.T, major, minor int) {
	t.Helper()
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(uts.Release[:])
	var a, b int
	if _, err := fmt.Sscanf(release, "%d.%d", &a, &b); err != nil {
		t.Fatalf("release %q: %v", release, err)
	}
	if a < major || a == major && b < minor {
		t.Skipf("needs Linux %d.%d, this is %s", major, minor, release)
	}
}

// traceChild records what a busy process does.
func traceChild(t *testing.T, in *instance) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), busyEnv+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	start, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.write("tracing_on", "0")
	in.write("options/event-fork", "1")
	// The threads that the process has already are no children of its first one.
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// 0 is what the processors do in between: interrupts, the ends of I/O.
	pids := []string{"0"}
	for _, task := range tasks {
		pids = append(pids, task.Name())
	}
	in.write("set_event_pid", strings.Join(pids, " "))
	in.write("events/enable", "1")
	in.write("tracing_on", "1")
	if err := start.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the traced process: %v", err)
	}
	in.write("tracing_on", "0")
	in.write("events/enable", "0")
}

// comparison has the numbers of compared lines.
type comparison struct {
	t        *testing.T
	byID     map[int]*tracefs.Event
	printers map[int]*Printer
	r        *Resolver
	kinds    map[string]int // lines of each event
	unknown  map[string]int // values that only the kernel has, by reason
	wrong    int
	lines    int
}

// unknownValue finds the text that jalon prints instead of a value.
var unknownValue = regexp.MustCompile(`\((?:jiffies is not recorded|string at 0x[0-9a-f]+)\)`)

func (c *comparison) compare(rec record, want line) {
	if len(rec.data) < 2 {
		c.t.Fatalf("a record of %d bytes", len(rec.data))
	}
	id := int(binary.LittleEndian.Uint16(rec.data))
	ev := c.byID[id]
	if ev == nil {
		c.t.Fatalf("no event %d; the kernel's text: %s", id, want.text)
	}
	name := ev.System + ":" + ev.Name
	p := c.printers[id]
	if p == nil {
		data := Describe(ev, c.r)
		data.TickCount = false // these records have the event's number there
		p = NewPrinter(data, resolverNames{c.r})
		if p.f == nil {
			c.t.Fatalf("%s: %s", name, p.refuse)
		}
		c.printers[id] = p
	}
	c.lines++
	c.kinds[name]++
	got := string(p.Line(nil, rec.data, 0))
	us := (rec.time + 500) / 1000
	if stamp := fmt.Sprintf("%d.%06d", us/1e6, us%1e6); stamp != want.time {
		c.t.Fatalf("%s: at %s, the kernel's text at %s", name, stamp, want.time)
	}
	if got == want.text || c.sameBut(got, want.text) {
		return
	}
	if c.wrong++; c.wrong <= 20 {
		c.t.Errorf("%s\n  got  %q\n  want %q\n  record %x", name, got, want.text, rec.data)
	}
}

// sameBut accepts any text where jalon prints that only the kernel knows the value.
func (c *comparison) sameBut(got, want string) bool {
	places := unknownValue.FindAllStringIndex(got, -1)
	if places == nil {
		return false
	}
	pattern, at := "^", 0
	for _, p := range places {
		pattern += regexp.QuoteMeta(got[at:p[0]]) + `\S.*`
		at = p[1]
		reason := got[p[0]:p[1]]
		if strings.HasPrefix(reason, "(string at ") {
			reason = "(string at ...)"
		}
		c.unknown[reason]++
	}
	return regexp.MustCompile(pattern + regexp.QuoteMeta(got[at:]) + "$").MatchString(want)
}

// needed are systems of which a busy process provokes events on every kernel.
var needed = []string{"sched", "syscalls", "raw_syscalls", "signal", "task", "kmem", "filemap", "exceptions", "timer", "rcu", "sock", "tcp", "skb", "net", "mmap", "irq"}

func (c *comparison) report() {
	systems := map[string]int{}
	for name := range c.kinds {
		s, _, _ := strings.Cut(name, ":")
		systems[s]++
	}
	var list []string
	for s, n := range systems {
		list = append(list, s+" "+strconv.Itoa(n))
	}
	slices.Sort(list)
	c.t.Logf("%d lines of %d events compared, %d different; kinds by system: %s", c.lines, len(c.kinds), c.wrong, strings.Join(list, ", "))
	c.t.Logf("values that only the kernel has: %v", c.unknown)
	for _, s := range needed {
		if systems[s] == 0 {
			c.t.Errorf("no event of %s was compared", s)
		}
	}
}

// kernelResolver answers from the running kernel's type information and symbols.
func kernelResolver(t *testing.T, tfs *tracefs.FS) *Resolver {
	t.Helper()
	strs, err := tfs.Strings()
	if err != nil {
		t.Fatal(err)
	}
	syms := readSymbols(t)
	types := readTypes(t)
	hz, ok := tfs.HZ()
	if !ok {
		t.Error("the kernel's HZ is not known")
	}
	return &Resolver{
		Enumerator: func(name string) (int64, bool) { v, ok := types.enumerators[name]; return v, ok },
		Type:       types.find,
		Symbol:     syms.find,
		String:     func(addr uint64) (string, bool) { s, ok := strs[addr]; return s, ok },
		HZ:         hz,
	}
}

var pageOfFrame = regexp.MustCompile(`page=([0-9a-f]{16}) pfn=0x([0-9a-f]+)`)

// learnBase computes vmemmap_base, which is in no file, from the first line with a page's
// address and number.
func learnBase(t *testing.T, r *Resolver, text []line) {
	page := r.Type("struct page")
	for _, l := range text {
		m := pageOfFrame.FindStringSubmatch(l.text)
		if m == nil || page == nil || r.Variable != nil {
			continue
		}
		addr, err := strconv.ParseUint(m[1], 16, 64)
		pfn, err2 := strconv.ParseUint(m[2], 16, 64)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		base := addr - pfn*uint64(page.Size)
		r.Variable = func(name string) (uint64, bool) { return base, name == "vmemmap_base" }
	}
}
