package export

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/report"
	"github.com/jalon-trace/jalon/test/madetrace"
)

func pageFile(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPageText: no text of the trace is in the page as text, and the policy of the page names its own program and style only.
func TestPageText(t *testing.T) {
	b := export(t, "html")
	for _, text := range []string{"onerror", "alert(1)", "a.c:9", "\x1b", "main"} {
		data := regexp.MustCompile(`(?s)<script type="text/plain" id="data">(.*?)</script>`).FindSubmatch(b)
		if data == nil || !regexp.MustCompile(`^[A-Za-z0-9+/=]+$`).Match(data[1]) {
			t.Fatal("the data are not base64")
		}
		if text != "main" && bytes.Contains(b, []byte(text)) {
			t.Errorf("the page has the text %q", text)
		}
	}
	if n := bytes.Count(b, []byte("</script")); n != 2 {
		t.Errorf("the page has %d ends of scripts", n)
	}
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindSubmatch(b)
	if policy == nil || !regexp.MustCompile(`^default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'sha256-[^ ;]*'; style-src 'sha256-[^ ;]*'$`).Match(policy[1]) {
		t.Errorf("the policy is %s", policy)
	}
	if regexp.MustCompile(`(?i)https?://|innerHTML|eval\(|new Function|document\.write`).Match(b) {
		t.Error("the page refers to others, or makes code of texts")
	}
}

// TestPage uses a page in a browser, with hostile texts.
func TestPage(t *testing.T) {
	b := openPage(t, pageFile(t, export(t, "html")))
	expect := func(what, expr, want string) {
		t.Helper()
		if got := b.text(expr); got != want {
			t.Errorf("%s: %s is %q, want %q", what, expr, got, want)
		}
	}
	count := `document.getElementById('count').textContent`
	expect("all events", count, "100 of 100 events")
	expect("lines", `document.querySelectorAll('#lines div').length > 10`, "true")
	var line string
	b.eval(`document.querySelector('#lines div').innerText`, &line)
	if line = strings.ReplaceAll(line, "\n", " "); !strings.HasPrefix(line, "0.000000000 0 one;") || !strings.Contains(line, "i=0 text=</script><img src=x onerror=alert(1)>") {
		t.Errorf("the first line is %q", line)
	}
	expect("elements made of texts", `document.querySelectorAll('img, #lines script').length`, "0")
	for _, f := range []struct{ filter, want string }{
		{"i == -5", "1 of 100 events"},
		{"i < -10 && i >= -20", "10 of 100 events"},
		{"$tid == 11 && place ~ \"a.c\"", "25 of 100 events"},
		{"!(place == \"end\") || i == 3", "50 of 100 events"},
		{"u == 18446744073709551615", "25 of 100 events"},
		{"u > 5", "25 of 100 events"},
		{"onerror", "50 of 100 events"},
		{"text ~ \"<img\" && cpu == 0", "50 of 100 events"},
		{"unreadable", "25 of 100 events"},
		{"nothing of this kind", "0 of 100 events"},
		{"", "100 of 100 events"},
	} {
		b.filter(f.filter)
		if got := b.text(count); got != f.want {
			t.Errorf("filter %q: %q, want %q", f.filter, got, f.want)
		}
		expect(f.filter, `document.getElementById('error').textContent`, "")
	}
	for _, f := range []struct{ filter, why string }{
		{"j == 5", "no field j"}, {"i ==", "a number or \"text\" is expected behind =="}, {"(i == 5", "a closing parenthesis is missing"}, {"tid ~ sh && ", "tid is a number"}, {"i = 5", "write == to compare: = 5"},
	} {
		b.filter(f.filter)
		expect(f.filter, `document.getElementById('error').textContent`, f.why)
	}
	b.filter("")
	b.screenshot("page")

	// The wheel enlarges the time around the pointer; dragging shows a part.
	var at struct{ X, Y, Width float64 }
	b.eval(`(r => ({X: r.x, Y: r.y, Width: r.width}))(document.getElementById('lanes').getBoundingClientRect())`, &at)
	b.mouse("mouseWheel", at.X+700, at.Y+10, map[string]any{"deltaX": 0, "deltaY": -200})
	b.wait(`view.timeline.to - view.timeline.from < 0.6 * view.trace.span`)
	b.eval(`view.timeline.whole()`, nil)
	b.mouse("mousePressed", at.X+400, at.Y+30, map[string]any{"button": "left", "clickCount": 1})
	b.mouse("mouseMoved", at.X+500, at.Y+30, map[string]any{"button": "left", "buttons": 1})
	b.mouse("mouseReleased", at.X+500, at.Y+30, map[string]any{"button": "left", "clickCount": 1})
	b.frame()
	expect("a dragged part", `Math.round(100 * (view.timeline.to - view.timeline.from) / view.trace.span)`, b.text(`Math.round(100 * 100 / (view.timeline.width - 190))`))
	b.wait(`/in the time shown/.test(document.getElementById('count').textContent)`)
	b.eval(`document.getElementById('whole').click()`, nil)
	b.frame()
	expect("all events again", count, "100 of 100 events")

	// A line that is clicked is shown in detail.
	var row struct{ X, Y float64 }
	b.eval(`(r => ({X: r.x, Y: r.y}))(document.querySelectorAll('#lines div')[1].getBoundingClientRect())`, &row)
	b.click(row.X+30, row.Y+8)
	b.wait(`view.chosen === 1`)
	expect("a stack", `[...document.querySelectorAll('#details li')].map(x => x.textContent.split('\n')[0]).join()`, "end,f;g,main")
	b.eval(`view.choose(2)`, nil)
	expect("a text", `[...document.querySelectorAll('#details dd')].some(x => x.textContent.startsWith('</script><img src=x'))`, "true")
	expect("a value that could not be read", `[...document.querySelectorAll('#details dd')].some(x => x.textContent === '<unreadable address 0x20>')`, "true")
	expect("no number", `[...document.querySelectorAll('#details dd')].some(x => x.textContent === 'NaN')`, "true")

	// The reports of the tabs.
	b.eval(`document.querySelector('[data-tab=histogram]').click()`, nil)
	expect("the histogram of i", `JSON.stringify([document.getElementById('field').value, [...view.charts.bars.counts].reverse()])`, `["i",[1,1,2,4,8,16,18]]`)
	b.screenshot("histogram")
	b.eval(`(r => view.charts.click({clientX: 300, clientY: r.y + 28 + view.charts.bars.row * 1.5}))(document.getElementById('bars').getBoundingClientRect())`, nil)
	b.frame()
	expect("the events of a bar", count, "16 of 100 events")
	b.filter("")
	b.eval(`document.querySelector('[data-tab=heat]').click()`, nil)
	expect("the heat map", `[...view.charts.cells.counts].reduce((a, b) => a + b)`, "50")
	b.screenshot("heat")
	b.eval(`document.querySelector('[data-tab=flame]').click()`, nil)
	names, err := json.Marshal([]string{"a.c:9 in begin 25", "a.c:9 in begin 25", "all 100", "end 50", "f;g\n 50", "main 50", "one;\n\x01 75", "? 25"})
	if err != nil {
		t.Fatal(err)
	}
	expect("the flame graph", `view.flame.boxes.map(b => b.x.name + ' ' + b.x.count).sort().join('|')`, b.text(string(names)+`.sort().join('|')`))
	b.screenshot("flame")
	b.eval(`document.querySelector('[data-tab=sources]').click()`, nil)
	expect("source lines", `[...document.querySelectorAll('#sources .hit')].length > 1`, "true")
	if len(b.errors) > 0 {
		t.Errorf("errors of the page: %q", b.errors)
	}
}

// TestPageSources: a page has the lines of files below the directory that is named, and of no others.
func TestPageSources(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"src/begin.c": "1\n2\n3\n4\n5\n6\n7\n8\nhere </pre><b>\n10\n11\n12\n13\n14\n15\n", "secret.c": "secret\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := madetrace.New(t)
	s := m.Site("begin", "begin")
	s.File = "/build/src/begin.c"
	other := m.Site("other", "other")
	other.File = filepath.Join(dir, "src", "..", "..", filepath.Base(dir), "secret.c")
	link := m.Site("link", "link")
	link.File = "link.c"
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "src", "link.c")); err != nil {
		t.Fatal(err)
	}
	for i, x := range []int64{1, 2, 3} {
		m.Event([]*event.Schema{s, other, link}[i], x, 0, 1, 1, 0, madetrace.Record(s))
	}
	r, err := report.NewReader(m.Open(), report.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Named("html").Write(&b, r, &Options{Sources: filepath.Join(dir, "src")}); err != nil {
		t.Fatal(err)
	}
	p := &page{r: r, meta: pageMeta{Sites: []*pageSite{{File: s.File, Line: 9}, {File: other.File, Line: 1}, {File: "link.c", Line: 1}}}}
	list, err := p.sources(filepath.Join(dir, "src"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"file":"/build/src/begin.c","first":5,"lines":["5","6","7","8","here \u003c/pre\u003e\u003cb\u003e","10","11","12","13"]}]`; string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	page := openPage(t, pageFile(t, b.Bytes()))
	page.eval(`document.querySelector('[data-tab=sources]').click()`, nil)
	if got := page.text(`document.querySelector('#sources .hit').textContent`); got != "19here </pre><b>" {
		t.Errorf("the line is %q", got)
	}
}

// TestPageMillion: a page of a million events can be used: it loads, filters, scrolls, enlarges and draws.
func TestPageMillion(t *testing.T) {
	m := madetrace.New(t)
	s := m.Site("a.c:9", "f", madetrace.Field{Name: "i", Type: ctype.IntT}, madetrace.Field{Name: "j", Type: ctype.IntT})
	const events = 1_000_000
	for i := range events {
		m.Event(s, int64(1e9+1000*i+i%7), i%4, 10, 11+i/1000%40, 0, madetrace.Record(s, i, i*7919%1000))
	}
	r, err := report.NewReader(m.Open(), report.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Named("html").Write(&out, r, &Options{}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 12<<20 {
		t.Errorf("the page has %d bytes", out.Len())
	}
	began := time.Now()
	b := openPage(t, pageFile(t, out.Bytes()))
	took := func(what string) {
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	took("loading a page of " + b.text(`document.documentElement.outerHTML.length`) + " characters and drawing it")
	for _, f := range []struct{ filter, want string }{
		{"j == 500", "1000 of 1000000 events"}, {"i >= 900000 && tid == 20", "2000 of 1000000 events"}, {"i=123456", "1 of 1000000 events"}, {"", "1000000 of 1000000 events"},
	} {
		b.filter(f.filter)
		if got := b.text(`document.getElementById('count').textContent`); got != f.want {
			t.Errorf("filter %q: %q, want %q", f.filter, got, f.want)
		}
		took("filter " + f.filter)
	}
	b.eval(`view.table.goto(999000)`, nil)
	if got := b.text(`document.querySelector('#lines div').innerText.includes('i=999000')`); got != "true" {
		t.Errorf("line 999000 is %q", b.text(`document.querySelector('#lines div').innerText`))
	}
	took("the table")
	b.eval(`document.getElementById('scroll').scrollTop = 1e9`, nil)
	b.wait(`[...document.querySelectorAll('#lines div')].at(-1).innerText.includes('i=999999')`)
	took("the end of the table")
	b.screenshot("million")
	for _, tab := range []string{"heat", "histogram", "flame"} {
		b.eval(`document.querySelector('[data-tab=`+tab+`]').click()`, nil)
		b.frame()
		took(tab)
		b.screenshot("million-" + tab)
	}
	b.eval(`view.timeline.range(5e8, 5e8 + 1e5)`, nil)
	b.frame()
	if got := b.text(`document.getElementById('count').textContent`); got != "1000000 of 1000000 events, 101 in the time shown" && got != "1000000 of 1000000 events, 100 in the time shown" {
		t.Errorf("a part: %q", got)
	}
	took("a part of 100 µs")
	b.screenshot("million-part")
	if len(b.errors) > 0 {
		t.Errorf("errors of the page: %q", b.errors)
	}
}
