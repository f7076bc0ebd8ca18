package testkit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// Event is a line of `jalon trace -f json`.
type Event struct {
	Time     int64
	CPU      int
	Pid, Tid int
	Comm     string
	Place    string
	Function string
	Values   map[string]any
	Errors   map[string]string
}

// Num is a collected number, unsigned ones as int64; a missing one fails the test.
func (e *Event) Num(t testing.TB, key string) int64 {
	t.Helper()
	n, ok := e.Values[key].(json.Number)
	if !ok {
		t.Fatalf("%s: %s is no number but %v (%s)", e.Place, key, e.Values[key], e.Errors[key])
	}
	return number(t, n)
}

// Str is a collected string; "" if there is none.
func (e *Event) Str(key string) string {
	s, _ := e.Values[key].(string)
	return s
}

// Text is the kernel's text of the event's own record.
func (e *Event) Text() string {
	m, _ := e.Values["$_sdata"].(map[string]any)
	s, _ := m["text"].(string)
	return s
}

func number(t testing.TB, n json.Number) int64 {
	t.Helper()
	v, err := n.Int64()
	if err == nil {
		return v
	}
	var u uint64
	if err := json.Unmarshal([]byte(n), &u); err != nil {
		t.Fatal(err)
	}
	return int64(u)
}

// ParseEvent reads one line.
func ParseEvent(t testing.TB, line []byte) Event {
	t.Helper()
	var e Event
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("not an event: %v\n%s", err, line)
	}
	return e
}

// ParseEvents parses lines; it skips output of the traced program.
func ParseEvents(t testing.TB, r io.Reader) []Event {
	t.Helper()
	var events []Event
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		if bytes.HasPrefix(sc.Bytes(), []byte("{")) {
			events = append(events, ParseEvent(t, sc.Bytes()))
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// ReadEvents reads the file of `jalon trace -o`.
func ReadEvents(t testing.TB, file string) []Event {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return ParseEvents(t, f)
}

// Totals is the line of `jalon trace --summary-json`.
type Totals struct {
	ArmedMS float64 `json:"armed_ms"`
	PauseUS float64 `json:"pause_us"`
	Sites   int
	Outcome string

	Hits, Recorded, Replaced, False, Faults, Lost, Missed, Torn, Unshown, Late, Waits uint64
}

// FindTotals finds that line in an error output.
func FindTotals(stderr string) (c Totals, ok bool) {
	for line := range strings.Lines(stderr) {
		if i := strings.Index(line, `{"arm`); i >= 0 && json.Unmarshal([]byte(line[i:]), &c) == nil {
			return c, true
		}
	}
	return c, false
}

// TotalsOf is FindTotals where the line must be there.
func TotalsOf(t testing.TB, what, stderr string) Totals {
	t.Helper()
	c, ok := FindTotals(stderr)
	if !ok {
		t.Fatalf("%s: no summary in the error output:\n%s", what, Tail(stderr))
	}
	return c
}
