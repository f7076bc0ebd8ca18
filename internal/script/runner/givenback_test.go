package runner

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/sema"
)

// keyed calls begin(key) and end(key) for ever new keys, and waits from time to time.
const keyed = `
#include <stdlib.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) void begin(long key) { sum += key; }
__attribute__((noinline)) void end(long key) { sum -= key; }
int main(int argc, char **argv) {
	for (long i = 0; i < atol(argv[1]); i++) {
		begin(i * 64);
		end(i * 64);
		if (i % atol(argv[2]) == 0) usleep(1000);
	}
	return 0;
}
`

// sparing sets how many slots tables have at least from whose maps hits delete, so that a test fills them.
func sparing(t *testing.T, slots int) {
	before := spareSlots
	t.Cleanup(func() { spareSlots = before })
	spareSlots = slots
}

// TestSlotsGivenBack: deleted keys leave room for others: the program has 10 times as many in all as the map has room for. Where they come faster than jalon
// gives slots back, the loss is reported with its reason, and no update is missing otherwise.
func TestSlotsGivenBack(t *testing.T) {
	path := compileC(t, "keyed", keyed)
	sparing(t, 1)
	src := strings.ReplaceAll(`uprobe:PROG:begin { @start[arg0] = arg0; @kept[arg0 % 1024] += 1; }
uprobe:PROG:end /@start[arg0] == arg0/ { @found = count(); delete(@start, arg0); }`, "PROG", path)
	const keys = 10 * 4096
	for _, c := range []struct {
		most, pause int // between waits
		uprobes     bool
		least, loss int
	}{
		{1024, 64, false, 0, keys * 3 / 4}, // the table has four times the slots. Where the processors are busy, it may be full before jalon runs again
		{1024, 64, true, 0, keys * 3 / 4},
		{1, keys, false, 1, keys},
	} {
		if c.uprobes {
			needRoot(t)
		}
		lost, text := uint64(0), ""
		add := lostOf(&lost)
		got, m := runScript(t, fmt.Sprintf("config = { max_map_keys = %d } ", c.most)+src, Options{Argv: []string{path, fmt.Sprint(keys), fmt.Sprint(c.pause)}, Uprobes: c.uprobes, Warn: func(s string) {
			if strings.HasPrefix(s, "the map @start ") {
				text = s
				add(s)
			}
		}})
		if n := m.SiteMaps(); n != 3 {
			t.Fatalf("%d maps are at the sites", n)
		}
		if int(lost) < c.least || int(lost) > c.loss || lost > 0 && !strings.HasPrefix(text, "the map @start was full of deleted elements: ") {
			t.Errorf("%+v: %d of %d keys had no room: %s", c, lost, keys, text)
		}
		if found := sumOf(numbersOf(t, got)["@found"]); found+lost != keys {
			t.Errorf("%+v: %d found, %d lost, of %d", c, found, lost, keys)
		}
		t.Logf("%+v: %d of %d keys had no room", c, lost, keys)
	}
}

// TestSlots: which maps have room for deleted keys. Where a thread of a process ends, jalon looks through all slots of maps with threads in their keys: many of them
// made programs with short threads 30 times as slow.
func TestSlots(t *testing.T) {
	number, thread := sema.KeyPart{Kind: sema.KeyNumber}, sema.KeyPart{Kind: sema.KeyThread}
	text := sema.KeyPart{Kind: sema.KeyText, Bytes: 64}
	for _, c := range []struct {
		key     []sema.KeyPart
		k       plan.SiteMap
		slots   int
		limited bool
	}{
		{[]sema.KeyPart{number}, plan.SiteMap{}, 8192, true},
		{[]sema.KeyPart{number}, plan.SiteMap{Deletes: true}, 1 << 18, false},
		{[]sema.KeyPart{text, text}, plan.SiteMap{Deletes: true}, 1 << 16, false}, // 16 MB
		{[]sema.KeyPart{thread}, plan.SiteMap{Deletes: true}, 4096, false},
		{[]sema.KeyPart{number, thread}, plan.SiteMap{Deletes: true}, 4096, false},
		{[]sema.KeyPart{thread}, plan.SiteMap{Deletes: true, InKernel: true}, 1 << 18, false},
	} {
		c.k.Map = &check.Map{}
		d := &sema.Map{Kind: sema.MapNumber, Slots: 1, Key: c.key}
		if slots(d, &c.k, 4096); d.Slots != c.slots || (d.Limit > 0) != c.limited {
			t.Errorf("%+v: %d slots, a limit of %d; want %d", c, d.Slots, d.Limit, c.slots)
		}
	}
}

// TestClearedNumbers: a timer that prints and clears a map of numbers loses none of what sites add meanwhile.
func TestClearedNumbers(t *testing.T) {
	path := compileC(t, "threads", threads, "-pthread")
	const rounds, calls = 8, 100_000
	src := strings.ReplaceAll(`uprobe:PROG:step { @all++; @by[arg0 & 7] += 2; }
interval:ms:1 { print(@all); clear(@all); print(@by); clear(@by); }`, "PROG", path)
	got, m := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(rounds), fmt.Sprint(calls)}})
	if n := m.SiteMaps(); n != 2 {
		t.Fatalf("%d maps are at the sites", n)
	}
	sums := map[string]int{}
	for _, l := range regexp.MustCompile(`(?m)^(@\w+)(?:\[\d+\])?: (\d+)$`).FindAllStringSubmatch(got, -1) {
		n, err := strconv.Atoi(l[2])
		if err != nil {
			t.Fatal(err)
		}
		sums[l[1]] += n
	}
	if want := 4 * rounds * calls; sums["@all"] != want || sums["@by"] != 2*want {
		t.Errorf("the sums are %v, want %d and %d", sums, want, 2*want)
	}
}
