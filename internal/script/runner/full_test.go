package runner

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/source"
	"github.com/jalon-trace/jalon/internal/session"
)

// until is an output that calls found when it has a text.
type until struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	text  string
	found func()
}

func (u *until) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.buf.Write(b)
	if strings.Contains(u.buf.String(), u.text) {
		u.found()
	}
	return n, err
}

// TestFullMap: that a map at the sites is full is reported while the script runs, as text and as JSON, and the end has the number of
// updates that were lost: with those that were made it is that of the hits.
func TestFullMap(t *testing.T) {
	dir := t.TempDir()
	src, path := filepath.Join(dir, "forever.c"), filepath.Join(dir, "forever")
	const text = `#include <unistd.h>
__attribute__((noinline)) long handle(long n) { static volatile long sum; return sum += n; }
int main(void) { for (long i = 0;; i++) { handle(i); getppid(); if (i > 1000) usleep(1000); } }`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-g", "-O1", "-o", path, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, c := range []struct {
		uprobes, json bool
		want          string
	}{{false, false, "the map @k is full"}, {false, true, `"type": "helper_error"`}, {true, false, "the map @k is full"}} {
		if c.uprobes && os.Getuid() != 0 {
			t.Skip("the kernel's uprobes need root")
		}
		s, err := script.Parse("t", "config = { max_map_keys = 16 } uprobe:"+path+":handle { @n = count(); @k[arg0] = count(); }")
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{Source: source.Open(), Process: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		out := &until{text: c.want, found: cancel}
		lost := 0
		m, err := Run(ctx, p, Options{
			Options: interp.Options{Out: out, Err: out, JSON: c.json, Quiet: true, Now: time.Now, Boot: clock(unix.CLOCK_BOOTTIME), Mono: clock(unix.CLOCK_MONOTONIC)},
			Warn: func(text string) {
				if m := regexp.MustCompile(`^the map @k was full: (\d+) updates`).FindStringSubmatch(text); m != nil {
					lost, _ = strconv.Atoi(m[1])
				}
			},
			Argv: []string{path}, Kill: true, Uprobes: c.uprobes, IO: session.IO{Out: os.Stderr, Err: os.Stderr},
		})
		if err != nil {
			t.Fatal(err)
		}
		out.mu.Lock()
		running := out.buf.String()
		out.buf.Reset()
		out.mu.Unlock()
		if strings.Count(running, c.want) != 1 {
			t.Errorf("%+v: %s", c, running)
		}
		m.PrintMaps()
		all, made := 0, 0
		for _, m := range regexp.MustCompile(`@(n|k\[\d+\]): (\d+)\n|"@n": (\d+)|"\d+": (\d+)`).FindAllStringSubmatch(out.buf.String(), -1) {
			v, _ := strconv.Atoi(m[2] + m[3] + m[4])
			if m[1] == "n" || m[3] != "" {
				all += v
			} else {
				made += v
			}
		}
		if all == 0 || made+lost != all || m.SiteMaps() != 2 {
			t.Errorf("%+v: %d hits, %d counted, %d lost, %d maps at the sites:\n%s", c, all, made, lost, m.SiteMaps(), &out.buf)
		}
	}
}
