package vmtest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// Frames arrive as they were sent, in whatever pieces the line hands them over.
func TestFrames(t *testing.T) {
	var line bytes.Buffer
	w := &frameWriter{w: &line}
	sent := [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0, 'H', 0xff, '\n'}, 10000)}
	for _, p := range sent {
		if err := w.send(frameOutput, p); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.send(frameEnd, nil)
	_ = w.send(frameOutput, []byte("after the end"))
	r := iotest.OneByteReader(&line)
	for _, p := range sent {
		kind, got, err := readFrame(r)
		if kind != frameOutput || !bytes.Equal(got, p) || err != nil {
			t.Fatalf("%q %q %v, want %q", kind, got, err, p)
		}
	}
	if kind, _, err := readFrame(r); kind != frameEnd || err != nil {
		t.Errorf("%q %v, want the end", kind, err)
	}
	if _, _, err := readFrame(r); err != io.EOF {
		t.Errorf("%v, want the end of the line", err)
	}
}

// Any changed bit and any missing byte is noticed.
func TestFrameDamage(t *testing.T) {
	var line bytes.Buffer
	if err := (&frameWriter{w: &line}).send(frameOutput, []byte("payload")); err != nil {
		t.Fatal(err)
	}
	good := line.Bytes()
	for bit := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := readFrame(bytes.NewReader(bad)); !errors.Is(err, errFrame) {
			t.Errorf("bit %d changed: %v", bit, err)
		}
	}
	for n := 1; n < len(good); n++ {
		if _, _, err := readFrame(bytes.NewReader(good[:n])); !errors.Is(err, errFrame) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// Each report that init cannot have sent is refused.
func TestFrameOrder(t *testing.T) {
	h, o, e := frame{kind: frameHello, payload: []byte("{}")}, frame{kind: frameOutput}, frame{kind: frameEnd, payload: []byte("{}")}
	for _, c := range []struct {
		frames []frame
		good   bool
	}{
		{[]frame{h, o, {kind: frameBeat}, e}, true},
		{[]frame{e}, true}, // init that could not set the machine up
		{[]frame{o}, false},
		{[]frame{h, e, o}, false},
		{[]frame{h, {kind: '?'}}, false},
		{[]frame{{kind: frameHello, payload: []byte("no JSON")}}, false},
	} {
		var r Report
		var err error
		for _, f := range c.frames {
			err = errors.Join(err, r.take(f, 0))
		}
		if c.good != (err == nil) {
			t.Errorf("%v: %v", c.frames, err)
		}
	}
}

// What a guest says must agree with itself.
func TestJudge(t *testing.T) {
	const pass, fail = "\x16=== RUN   A\n\x16--- PASS: A (0.00s)\n\x16PASS\n", "\x16=== RUN   A\n\x16--- FAIL: A (0.00s)\n\x16FAIL\n"
	for _, c := range []struct {
		name, raw, console string
		end                *ending
		want               string // a part of the problem, "" if there is none
	}{
		{"good", pass, "", &ending{}, ""},
		{"failed", fail, "", &ending{Status: 1}, ""},
		{"failed with status 0", fail, "", &ending{}, "says that all is well"},
		{"passed with status 1", pass, "", &ending{Status: 1}, "no test did"},
		{"no output", "", "", &ending{}, "did not run: A"},
		{"init", pass, "", &ending{Problem: "no /dev"}, "no /dev"},
		{"no end", pass, "", nil, "without an end mark"},
		{"oops", pass, "[1] fine\n[2] Oops: 0000\n", nil, "crashed: [2] Oops: 0000"},
		{"warning", pass, "[2] WARNING: CPU: 0 PID: 1\n", &ending{}, "complained: [2] WARNING: CPU: 0 PID: 1"},
		{"soft lockup", pass, "[2] watchdog: BUG: soft lockup - CPU#0\n", &ending{}, ""},
	} {
		r := Report{raw: []byte(c.raw), hello: &hello{}, ending: c.end, Console: c.console}
		r.check([]string{"A"})
		got := strings.Join(r.Problems, "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: problems %q, want %q", c.name, got, c.want)
		}
	}
}

// The archive is read by cpio's own reader, where there is one, and by the kernel in
// every other test.
func TestArchiveNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o751); err != nil {
		t.Fatal(err)
	}
	var a archive
	if err := a.addFile("/a/b", File{Host: dir}); err != nil {
		t.Fatal(err)
	}
	if err := a.addFile("/a/c", File{Data: []byte("x"), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if err := a.addFile("relative", File{}); err == nil {
		t.Error("a relative path was taken")
	}
	if err := a.addFile("/x", File{Host: filepath.Join(dir, "missing")}); err == nil {
		t.Error("a missing file was taken")
	}
	got := archiveNames(t, a.bytes())
	if want := "a a/b a/b/f a/c TRAILER!!!"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// archiveNames walks an archive by its sizes and returns the names in it.
func archiveNames(t *testing.T, b []byte) string {
	var names []string
	for len(b) > 0 {
		if len(b) < 110 || string(b[:6]) != "070701" {
			t.Fatalf("no header after %q", names)
		}
		field := func(i int) (n int) {
			for _, c := range string(b[6+8*i:][:8]) {
				n = n*16 + strings.IndexRune("0123456789ABCDEF", c)
			}
			return n
		}
		name := field(11)
		names = append(names, string(b[110:][:name-1]))
		skip := (110+name+3)&^3 + field(6)
		b = b[min(len(b), (skip+3)&^3):]
	}
	return strings.Join(names, " ")
}

// A missing kernel and a missing network give an error with the remedy.
func TestNoKernel(t *testing.T) {
	bin := t.TempDir()
	// An apt without package lists and without network.
	for _, tool := range []string{"apt-get", "apt-cache", "sudo"} {
		if err := os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\nexit 100\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := findKernel(t.Context(), "6.12")
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, want := range []string{"no kernel 6.12", "linux-image-6.12.*-cloud-amd64", "apt-get update", "network"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if _, err := findKernel(t.Context(), "./missing"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What a guest says is outside data.
func FuzzFrames(f *testing.F) {
	var line bytes.Buffer
	w := &frameWriter{w: &line}
	_ = w.send(frameHello, []byte("{}"))
	_ = w.send(frameOutput, []byte("\x16=== RUN   A\n"))
	_ = w.send(frameEnd, []byte(`{"Status":1}`))
	f.Add(line.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Report
		in := bytes.NewReader(data)
		for {
			kind, payload, err := readFrame(in)
			if err != nil {
				break
			}
			_ = r.take(frame{kind: kind, payload: payload}, 0)
		}
		r.check([]string{"A"})
		if r.ending == nil && len(r.Problems) == 0 {
			t.Error("no end and no problem")
		}
	})
}

// No byte of the output is lost but the marked lines.
func FuzzParseTests(f *testing.F) {
	f.Add([]byte("x\n\x16=== RUN   A/b\n    log\nno newline\x16    --- SKIP: A/b (0.10s)\n\x16--- FAIL: A (1.00s)\npanic: x\n\x16FAIL\n"))
	f.Add([]byte("\x16=== NAME  \n\x16--- PASS: (s)\n\x16"))
	f.Fuzz(func(t *testing.T, out []byte) {
		tests, rest := parseTests(out)
		for _, n := range tree(tests) {
			skipReason(n.test.Output)
		}
		kept := len(rest)
		for _, test := range tests {
			kept += len(test.Output)
		}
		plain := 0
		for _, line := range bytes.SplitAfter(out, []byte("\n")) {
			if !bytes.Contains(line, []byte{marker}) {
				plain += len(line)
			}
		}
		if kept < plain || kept > len(out) {
			t.Errorf("%d bytes kept of %d, %d of them in unmarked lines", kept, len(out), plain)
		}
	})
}
