package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// answer is the result of one "output" in GDB.
type answer struct {
	V        *string `json:"v"`
	E        string  `json:"e"`
	Shadowed bool    `json:"shadowed"` // the name means another variable here
	Static   bool    `json:"static"`   // it is a static object, or a label
}

func (a answer) String() string {
	if a.V != nil {
		return *a.V
	}
	return "error: " + a.E
}

// named is a name with its answer, [name, answer] in JSON.
type named struct {
	name string
	a    answer
}

func (n *named) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&n.name, &n.a}) }

// gdbStop is a line of oracle.py.
type gdbStop struct {
	PC           uint64
	Func         string
	Unexpected   bool
	Args, Locals []named
	Exprs        []answer
	Conds        []any
}

type gdbAsk struct {
	Exprs []string `json:"exprs,omitempty"`
	Conds []string `json:"conds,omitempty"`
}

// gdb runs the program under GDB. hits: how many at an address are looked at, 0 for all.
func (s *subject) gdb(points map[uint64]*point, hits int) []gdbStop {
	asks := map[string]gdbAsk{}
	for a, p := range points {
		q := gdbAsk{Exprs: []string{}}
		for _, x := range p.exprs {
			q.Exprs = append(q.Exprs, gdbForm(x))
		}
		asks[fmt.Sprintf("%#x", a)] = q
	}
	return s.gdbJob(asks, gdbOptions{hits: hits, poison: noPoison, values: true})
}

// noPoison does not overwrite the stack.
const noPoison = -1

// gdbOptions are parameters of oracle.py, which describes them.
type gdbOptions struct {
	hits, poison     int
	values, physical bool
	entries          []string
}

// gdbJob runs oracle.py. Where GDB itself crashes on an expression of a real program, it runs again without that.
func (s *subject) gdbJob(asks map[string]gdbAsk, o gdbOptions) []gdbStop {
	s.t.Helper()
	for {
		stops, crash := s.gdbOnce(asks, o)
		if crash == nil {
			return stops
		}
		at, err := os.ReadFile(filepath.Join(s.dir, "stops.at"))
		place, what, ok := strings.Cut(string(at), " ")
		if err != nil || !ok || !s.real || len(s.fatal) >= 10 {
			s.t.Fatal(crash)
		}
		if i := strings.IndexByte(place, '/'); i > 0 { // a format
			place, what = place[:i], place[i:]+" "+what
		} else {
			what = " " + what
		}
		s.t.Logf("GDB crashes on %s at %s", what, place)
		s.fatal = append(s.fatal, [2]string{place, what})
	}
}

func (s *subject) gdbOnce(asks map[string]gdbAsk, o gdbOptions) (stops []gdbStop, crash error) {
	s.t.Helper()
	job, out := filepath.Join(s.dir, "job"), filepath.Join(s.dir, "stops")
	byteOrNull := &o.poison
	if o.poison == noPoison {
		byteOrNull = nil
	}
	b, err := json.Marshal(map[string]any{
		"prog": s.prog, "args": append([]string{}, s.args...), "stops": asks, "hits": o.hits, "out": out, "poison": byteOrNull, "values": o.values, "real": s.real,
		"fatal": s.fatal, "entries": o.entries, "physical": o.physical,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(job, b, 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", "testdata/oracle.py")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "DEBUGINFOD_URLS=", "JOB="+job)
	log, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("gdb: %w\n%s", err, lastPart(string(log), 2000))
	}
	if bytes.Contains(log, []byte("Traceback")) || bytes.Contains(log, []byte("Error")) {
		s.t.Fatalf("gdb: %s", lastPart(string(log), 2000))
	}
	f, err := os.Open(out)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, log)
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(f))
	for d.More() {
		var st gdbStop
		if err := d.Decode(&st); err != nil {
			s.t.Fatal(err)
		}
		if st.Unexpected {
			s.t.Fatalf("GDB stopped at %#x, where there is no breakpoint", st.PC)
		}
		stops = append(stops, st)
	}
	if len(stops) == 0 {
		s.t.Fatalf("GDB stopped nowhere: %s", log)
	}
	return stops, nil
}

// gdbPlaces returns the link-time addresses of GDB's breakpoints at places.
func (s *subject) gdbPlaces(places []string) map[string]string {
	s.t.Helper()
	job, out := filepath.Join(s.dir, "job"), filepath.Join(s.dir, "stops")
	b, err := json.Marshal(map[string]any{"prog": s.prog, "places": places, "out": out})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(job, b, 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", "testdata/places.py")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=", "JOB="+job)
	log, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("gdb: %v\n%s", err, lastPart(string(log), 2000))
	}
	var found map[string][]uint64
	if b, err = os.ReadFile(out); err == nil {
		err = json.Unmarshal(b, &found)
	}
	if err != nil {
		s.t.Fatalf("%v\n%s", err, lastPart(string(log), 2000))
	}
	list := map[string]string{}
	for p, a := range found {
		list[p] = hexList(a)
	}
	return list
}

// hit is an event of jalon: the values as text, in the order of ask.
type hit struct {
	pc    uint64
	place string
	rest  string // the line from "$rip=" on
}

// asked is the list that jalon collects at a point.
func (p *point) asked() []string {
	list := []string{"$rip/x", "$args", "$locals"}
	for _, x := range p.exprs {
		if p.gone[x] == "" {
			list = append(list, x)
		}
	}
	return list
}

// names are the names of the values in an event's line, after $rip.
func (p *point) names() (list []string) {
	for _, v := range p.args {
		list = append(list, v.Name)
	}
	for _, v := range p.locals {
		list = append(list, v.Name)
	}
	// An expression's key has its format only where an earlier one is the same in
	// another format.
	first := map[string]string{}
	for _, x := range p.asked()[3:] {
		name, _ := cutFormat(x)
		if before, ok := first[name]; !ok {
			first[name] = x
		} else if before != x {
			name = x
		}
		list = append(list, name)
	}
	return list
}

func (s *subject) jalonValues(points map[uint64]*point) []hit {
	var file strings.Builder
	var addrs []uint64
	for a := range points {
		addrs = append(addrs, a)
	}
	sort.Slice(addrs, func(i, j int) bool { return addrs[i] < addrs[j] })
	for _, a := range addrs {
		fmt.Fprintf(&file, "trace *%#x\n  actions\n    collect %s\n  end\n", a, strings.Join(points[a].asked(), ", "))
	}
	return s.jalon(file.String())
}

// jalon traces the program with a file of tracepoints.
func (s *subject) jalon(tracepoints string) []hit {
	s.t.Helper()
	tp, out := filepath.Join(s.dir, "tp"), filepath.Join(s.dir, "events")
	if err := os.WriteFile(tp, []byte(tracepoints), 0o600); err != nil {
		s.t.Fatal(err)
	}
	buffer := "64M"
	if s.real {
		buffer = "256M" // places that are hit too often are found by tracing them once
	}
	cmd := exec.Command("/usr/bin/setarch", append([]string{"-R", jalonBin, "trace", "-x", tp, "-o", out, "--buffer", buffer, "--summary-json", "--", s.prog}, s.args...)...)
	cmd.Env = []string{}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("jalon: %v\n%s\n%s", err, head(stderr.String(), 4000), stdout.String())
	}
	if plain := s.plainRun(); stdout.String() != plain {
		s.t.Errorf("the program printed %q under jalon, %q alone", stdout.String(), plain)
	}
	if strings.Contains(stderr.String(), "are skipped") {
		s.t.Errorf("jalon: %s", head(stderr.String(), 2000))
	}
	var sum struct{ Lost, Torn uint64 }
	for _, l := range strings.Split(stderr.String(), "\n") {
		if strings.HasPrefix(l, "{") {
			if err := json.Unmarshal([]byte(l), &sum); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if sum.Lost != 0 || sum.Torn != 0 {
		s.t.Fatalf("%d records lost, %d torn", sum.Lost, sum.Torn)
	}
	return s.readHits(out)
}

func (s *subject) plainRun() string {
	cmd := exec.Command(s.prog, s.args...)
	cmd.Env = []string{}
	b, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *subject) readHits(name string) (hits []hit) {
	f, err := os.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		front, rest, ok := strings.Cut(sc.Text(), " $rip=")
		if !ok {
			s.t.Fatalf("event without $rip: %s", head(sc.Text(), 300))
		}
		h := hit{rest: rest}
		if f := strings.Fields(front); len(f) > 0 {
			h.place = f[len(f)-1]
		}
		if _, err := fmt.Sscanf(rest, "%v", &h.pc); err != nil {
			s.t.Fatalf("event: %v: %s", err, head(sc.Text(), 300))
		}
		if _, h.rest, ok = strings.Cut(rest, " "); !ok {
			h.rest = ""
		}
		hits = append(hits, h)
	}
	if err := sc.Err(); err != nil {
		s.t.Fatal(err)
	}
	return hits
}

// values splits the line of an event. want has GDB's texts, which determine where a value ends.
func (h *hit) values(names, want []string) ([]string, error) {
	rest := " " + h.rest
	var out []string
	for i, n := range names {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, " "+n+"="); !ok {
			return out, fmt.Errorf("no %q at %q", n, head(rest, 100))
		}
		end := len(rest)
		if i+1 < len(names) {
			next := " " + names[i+1] + "="
			if strings.HasPrefix(rest, want[i]+next) {
				end = len(want[i])
			} else if end = strings.Index(rest, next); end < 0 {
				return out, fmt.Errorf("no %q behind %q", names[i+1], n)
			}
		}
		out = append(out, rest[:end])
		rest = rest[end:]
	}
	return out, nil
}

func head(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

func lastPart(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
