package export

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser is a page in headless Chromium, controlled by its protocol for developer tools, over pipes.
type browser struct {
	t       *testing.T
	out     *os.File
	in      *bufio.Reader
	id      int
	session string
	errors  []string // exceptions of scripts, messages of errors
}

// browserLimit bounds an answer on a loaded machine.
const browserLimit = 3 * time.Minute

// openPage opens a file. Without Chromium the test is skipped.
func openPage(t *testing.T, file string) *browser {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium (Debian package chromium), in which pages are tested")
	}
	fromPage, toTest, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toPage, fromTest, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--window-size=1400,900",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "about:blank")
	cmd.ExtraFiles = []*os.File{toPage, toTest} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = toPage.Close(), toTest.Close()
	b := &browser{t: t, out: fromTest, in: bufio.NewReaderSize(fromPage, 1<<20)}
	t.Cleanup(func() {
		_, _ = fmt.Fprintf(fromTest, `{"id":1000000,"method":"Browser.close"}%c`, 0)
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
		_, _ = fromTest.Close(), fromPage.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Runtime.enable", "Log.enable", "Page.enable", "Network.enable"} {
		b.call(domain, nil, nil)
	}
	b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	b.wait(`document.body && document.body.dataset.ready`)
	if state := b.text(`document.body.dataset.ready`); state != "yes" {
		t.Fatalf("the page is %s: %s", state, b.text(`document.getElementById('loading')?.textContent ?? ''`))
	}
	return b
}

// call calls a method and waits for its result. Events that come meanwhile are looked at for errors and requests.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.id++
	msg := map[string]any{"id": b.id, "method": method}
	if params != nil {
		msg["params"] = params
	}
	if b.session != "" {
		msg["sessionId"] = b.session
	}
	text, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.message()
		if m.Method != "" {
			b.event(m.Method, m.Params)
			continue
		}
		if m.ID != b.id {
			continue
		}
		if len(m.Error) > 0 {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

type browserMessage struct {
	ID                    int
	Method                string
	Params, Result, Error json.RawMessage
}

func (b *browser) message() (m browserMessage) {
	b.t.Helper()
	type read struct {
		text []byte
		err  error
	}
	got := make(chan read, 1)
	go func() {
		text, err := b.in.ReadBytes(0)
		got <- read{text, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			b.t.Fatalf("the browser has ended: %v", r.err)
		}
		if err := json.Unmarshal(r.text[:len(r.text)-1], &m); err != nil {
			b.t.Fatal(err)
		}
	case <-time.After(browserLimit):
		b.t.Fatalf("the browser has not answered for %v", browserLimit)
	}
	return m
}

func (b *browser) event(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Page.javascriptDialogOpening":
		b.errors = append(b.errors, fmt.Sprintf("%s %.600s", method, params))
	case "Log.entryAdded":
		var p struct {
			Entry struct{ Level, Text, URL string }
		}
		if json.Unmarshal(params, &p) == nil && p.Entry.Level == "error" {
			b.errors = append(b.errors, p.Entry.Text+" "+p.Entry.URL)
		}
	case "Network.requestWillBeSent":
		var p struct {
			Request struct{ URL string }
			Type    string
		}
		if json.Unmarshal(params, &p) == nil && p.Type != "Document" {
			b.errors = append(b.errors, "a request: "+p.Request.URL)
		}
	}
}

// eval evaluates an expression, which may be a promise.
func (b *browser) eval(expr string, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expr, "returnByValue": true, "awaitPromise": true}, &r)
	if len(r.ExceptionDetails) > 0 {
		b.t.Fatalf("%s: %s", expr, r.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %s: %v", expr, r.Result.Value, err)
		}
	}
}

func (b *browser) text(expr string) (s string) {
	b.t.Helper()
	b.eval(`String(`+expr+`)`, &s)
	return s
}

// wait waits until an expression is true.
func (b *browser) wait(expr string) {
	b.t.Helper()
	for end := time.Now().Add(browserLimit); ; time.Sleep(20 * time.Millisecond) { // what a page does can only be observed
		var ok bool
		b.eval(`!!(`+expr+`)`, &ok)
		if ok {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s has not become true for %v; errors: %q", expr, browserLimit, b.errors)
		}
	}
}

// mouse sends an event of the mouse.
func (b *browser) mouse(kind string, x, y float64, more map[string]any) {
	b.t.Helper()
	p := map[string]any{"type": kind, "x": x, "y": y}
	for k, v := range more {
		p[k] = v
	}
	b.call("Input.dispatchMouseEvent", p, nil)
}

func (b *browser) click(x, y float64) {
	b.t.Helper()
	b.mouse("mouseMoved", x, y, nil)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.mouse(kind, x, y, map[string]any{"button": "left", "clickCount": 1})
	}
}

// filter types a filter and waits until it has been used.
func (b *browser) filter(text string) {
	b.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		b.t.Fatal(err)
	}
	b.eval(`document.getElementById('filter').value = `+string(quoted)+`; document.getElementById('query').requestSubmit()`, nil)
	b.frame()
}

// frame waits until the page has been drawn.
func (b *browser) frame() {
	b.t.Helper()
	b.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, nil)
}

// screenshot writes a picture to the directory that JALON_SCREENSHOTS names.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("JALON_SCREENSHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
