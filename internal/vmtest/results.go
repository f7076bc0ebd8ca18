package vmtest

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Status is how a test of the guest came out.
type Status string

const (
	Passed     Status = "PASS"
	Failed     Status = "FAIL"
	Skipped    Status = "SKIP"
	Unfinished Status = "unfinished" // it began and its end was not seen
)

// Test is one test of the guest or one of its subtests.
type Test struct {
	Name    string // with the names of its parents, as the testing package prints it
	Status  Status
	Elapsed time.Duration
	Output  string // log and output of the test, with the reason of a skip
}

// marker begins the lines in which a test binary run with -test.v=test2json names the test of the following
// lines (source of cmd/internal/test2json).
const marker = 0x16

// parseTests takes the output of a test binary apart. rest is what belongs to no
// test. Tests are in the order in which they began.
func parseTests(out []byte) (tests []*Test, rest string) {
	p := parser{byName: map[string]*Test{}}
	for len(out) > 0 {
		line := out
		if i := bytes.IndexByte(out, '\n'); i >= 0 {
			line = out[:i+1]
		}
		out = out[len(line):]
		// A test may have printed something without a newline before the marker.
		if i := bytes.IndexByte(line, marker); i > 0 {
			p.text(line[:i])
			line = line[i:]
		}
		if line[0] != marker || !p.control(strings.TrimSpace(string(line[1:]))) {
			p.text(line)
		}
	}
	for _, t := range p.tests {
		t.Output = p.output[t].String()
	}
	return p.tests, p.rest.String()
}

type parser struct {
	tests   []*Test
	byName  map[string]*Test
	output  map[*Test]*strings.Builder
	current *Test
	rest    strings.Builder
}

func (p *parser) text(line []byte) {
	if p.current == nil {
		p.rest.Write(line)
		return
	}
	p.output[p.current].Write(line)
}

// test returns the test of a name, which is new at its first mention.
func (p *parser) test(name string) *Test {
	if name == "" {
		return nil
	}
	t := p.byName[name]
	if t == nil {
		t = &Test{Name: name, Status: Unfinished}
		p.byName[name] = t
		p.tests = append(p.tests, t)
		if p.output == nil {
			p.output = map[*Test]*strings.Builder{}
		}
		p.output[t] = &strings.Builder{}
	}
	return t
}

// control treats a marked line; it reports whether it understood it.
func (p *parser) control(line string) bool {
	for _, what := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME"} {
		if name, ok := strings.CutPrefix(line, what); ok {
			p.current = p.test(strings.TrimSpace(name))
			return true
		}
	}
	if line == "PASS" || line == "FAIL" {
		p.current = nil
		return true
	}
	for _, status := range []Status{Passed, Failed, Skipped} {
		if text, ok := strings.CutPrefix(line, "--- "+string(status)+": "); ok {
			return p.end(status, text)
		}
	}
	return false
}

// end treats "NAME (0.12s)".
func (p *parser) end(status Status, text string) bool {
	i := strings.LastIndex(text, " (")
	if i < 0 || !strings.HasSuffix(text, "s)") {
		return false
	}
	seconds, err := strconv.ParseFloat(text[i+2:len(text)-2], 64)
	if err != nil || text[:i] == "" {
		return false
	}
	t := p.test(text[:i])
	t.Status, t.Elapsed = status, time.Duration(seconds*float64(time.Second))
	p.current = t
	return true
}
