package jalon_test

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon"
)

// TestSlowest: the list of the slowest calls has those that the histogram of all calls has at its upper end, with their arguments
// at the entry.
func TestSlowest(t *testing.T) {
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "slow.c"), filepath.Join(dir, "slow")
	const text = `#include <pthread.h>
__attribute__((noinline)) int work(int n, const char *name, long twice) {
	volatile int sum = 0;
	for (int i = 0; i < (n % 100 ? 10 : 20000 + n); i++) sum += i;
	n = twice = 0;
	asm volatile("" :: "r"(n), "r"(twice));
	return sum;
}
static void *many(void *p) { for (int i = 0; i < 3000; i++) work(i, "name", 2 * i); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, many, 0); many(0); pthread_join(t, 0); return 0; }`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O1", "-pthread", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const most, calls = 20, 6000
	var out, hist bytes.Buffer
	opt := one("work%return", "")
	opt.Aggregate, opt.Output = &jalon.Aggregate{Kind: "hist", Value: "$elapsed", Top: most}, jalon.JSON(&out)
	res, err := start(t, jalon.Command(bin), opt).Wait()
	if err != nil {
		t.Fatal(err)
	}
	res.WriteMaps(&hist, true)
	s := res.Sites[0]
	if s.Hits() != calls || s.Lost != 0 || s.Faults != 0 || s.Recorded < most {
		t.Errorf("%d hits, want %d; %d were recorded, %d lost; %d without an entry", s.Hits(), calls, s.Recorded, s.Lost, s.Unpaired)
	}
	above := map[int]int{} // of the list, by powers of 2
	last, n := ^uint64(0), 0
	for line := range strings.Lines(out.String()) {
		var ev struct {
			Values struct {
				Elapsed uint64 `json:"$elapsed"`
				Entry   struct {
					N, Twice int
					Name     json.RawMessage
				} `json:"@entry($args)"`
			}
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		v := ev.Values
		if v.Elapsed > last || v.Entry.Twice != 2*v.Entry.N || len(v.Entry.Name) == 0 {
			t.Errorf("after %d: %s", last, line)
		}
		above[bits.Len64(v.Elapsed)]++
		last = v.Elapsed
		n++
	}
	var maps struct {
		Data map[string][]struct{ Min, Count int }
	}
	if err := json.Unmarshal(hist.Bytes(), &maps); err != nil {
		t.Fatalf("%v\n%s", err, &hist)
	}
	total := 0
	for _, b := range maps.Data["@"] {
		total += b.Count
		power := bits.Len64(uint64(b.Min))
		if power > bits.Len64(last) && above[power] != b.Count || power == bits.Len64(last) && above[power] > b.Count {
			t.Errorf("%d calls took %d ns and more, the list has %d", b.Count, b.Min, above[power])
		}
	}
	if n != most || total != calls {
		t.Errorf("%d in the list, want %d; %d in the histogram, want %d", n, most, total, calls)
	}
	for _, bad := range []jalon.Aggregate{{Kind: "hist", Value: "$retval", Top: 1}, {Kind: "hist", Value: "$elapsed", Top: -1}, {Kind: "count", Top: 3}} {
		opt := one("work%return", "")
		opt.Aggregate = &bad
		if tr, err := jalon.Start(t.Context(), jalon.Command(bin), opt); err == nil {
			_ = tr.Close()
			t.Errorf("%+v was accepted", bad)
		}
	}
}
