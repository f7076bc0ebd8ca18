package ctf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
)

// lines are the events of a trace, each with all that it has, and what was damaged.
func lines(t *testing.T, dir string) (list, damage []string, err error) {
	t.Helper()
	tr, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer tr.Close()
	it := tr.Events(Query{})
	for {
		var ev *event.Event
		if ev, err = it.Next(); err != nil {
			break
		}
		list = append(list, fmt.Sprint(ev.TimeNS, ev.CPU, ev.Pid, ev.Tid, ev.Comm, ev.Schema.Place, ev.Raw))
	}
	if !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return list, append(tr.Damage, it.Damage()...), nil
}

// TestDamage: whatever happens to a file of packets, what is read of it are events of the trace, and damage is reported. After a repair no
// damage is found, and there are the same events.
func TestDamage(t *testing.T) {
	m := makeTrace(t, 3, 600)
	all, damage, err := lines(t, m.dir)
	if err != nil || len(damage) > 0 || len(all) != len(m.events) {
		t.Fatalf("%d of %d events, damage %q, %v", len(all), len(m.events), damage, err)
	}
	count := map[string]int{}
	for _, x := range all {
		count[x]++
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, file := range []string{"process-0", "kernel-1", "state"} {
		path := filepath.Join(m.dir, file)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range damages(t, whole, file == "state", rnd) {
			if bytes.Equal(d.b, whole) {
				continue
			}
			m.write(t, file, d.b)
			got, damage, err := lines(t, m.dir)
			if err != nil {
				t.Fatalf("%s, %s: %v", file, d.what, err)
			}
			subset(t, file+", "+d.what, got, count, file == "state")
			if len(damage) == 0 && !d.silent {
				t.Fatalf("%s, %s: no damage is reported; %d of %d events", file, d.what, len(got), len(all))
			}
			if _, err := Repair(m.dir); err != nil {
				t.Fatalf("%s, %s: %v", file, d.what, err)
			}
			again, _, err := lines(t, m.dir)
			if err != nil || file != "state" && !slices.Equal(again, got) {
				t.Fatalf("%s, %s: %d events after the repair, %d before; %v", file, d.what, len(again), len(got), err)
			}
		}
		m.write(t, file, whole)
	}
}

// subset fails if there is an event that the trace does not have. names: they may be missing.
func subset(t *testing.T, what string, got []string, count map[string]int, names bool) {
	t.Helper()
	left := map[string]int{}
	for _, x := range got {
		left[x]++
		if left[x] <= count[x] {
			continue
		}
		for _, name := range []string{"one", "uno"} {
			if names && count[withName(x, name)] > 0 {
				count[x], x = count[withName(x, name)], ""
				break
			}
		}
		if x != "" {
			t.Fatalf("%s: the trace has no event %s", what, x[:min(len(x), 120)])
		}
	}
}

// withName is the line of an event of a thread without a name as it is with one.
func withName(line, name string) string {
	var n [4]int64
	if _, err := fmt.Sscan(line, &n[0], &n[1], &n[2], &n[3]); err != nil {
		return ""
	}
	head := fmt.Sprint(n[0], n[1], n[2], n[3])
	return fmt.Sprint(n[0], n[1], n[2], n[3], name) + line[len(head):]
}

// TestWithoutChecksums: traces of before there were checksums are read.
func TestWithoutChecksums(t *testing.T) {
	m := makeTrace(t, 4, 200)
	want, _, err := lines(t, m.dir)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join(m.dir, OwnDirectory, InfoFile))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, OwnDirectory+"/"+InfoFile, bytes.Replace(own, []byte(`"version": 2`), []byte(`"version": 1`), 1))
	for _, name := range []string{"process-0", "kernel-1", "process-2", "kernel-3", "state"} {
		b, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(b); {
			clear(b[i+packetHeadSum : i+packetHeadSum+4])
			clear(b[i+packetSum : i+packetSum+4])
			i += int(binary.LittleEndian.Uint64(b[i+packetSize:]) / 8)
		}
		m.write(t, name, b)
	}
	got, damage, err := lines(t, m.dir)
	if err != nil || len(damage) > 0 || !slices.Equal(got, want) {
		t.Errorf("%d events, want %d; damage %q, %v", len(got), len(want), damage, err)
	}
}

type damaged struct {
	what   string
	b      []byte
	silent bool // nothing shows it
}

// damages are what can happen to a file of packets.
func damages(t *testing.T, whole []byte, state bool, rnd *rand.Rand) (list []damaged) {
	add := func(silent bool, b []byte, form string, args ...any) {
		list = append(list, damaged{fmt.Sprintf(form, args...), b, silent})
	}
	var at []int // of packets
	for i := 0; i < len(whole); {
		p, _, _, _, why := parseHead(whole[i:i+packetHead], [16]byte(whole[i+packetUUID:i+packetUUID+16]), true)
		if why != "" {
			t.Fatal(why)
		}
		at = append(at, i)
		i += p.size
	}
	at = append(at, len(whole))
	for n := 0; n < len(whole); n += max(97, len(whole)/25) {
		add(slices.Contains(at, n), whole[:n], "truncated at %d", n)
	}
	const page = 512
	for n := 0; n < len(whole); n += page * max(1, len(whole)/page/25) {
		b := bytes.Clone(whole)
		clear(b[n:min(n+page, len(b))])
		add(false, b, "zeros at %d", n)
	}
	for range 25 {
		n := rnd.IntN(len(whole))
		b := bytes.Clone(whole)
		b[n] ^= 1 << rnd.IntN(8)
		add(false, b, "a bit at %d", n)
	}
	for i := 0; i+2 < len(at); i++ {
		a, b, c := at[i], at[i+1], at[i+2]
		add(false, slices.Concat(whole[:a], whole[b:c], whole[a:b], whole[c:]), "packets %d and %d swapped", i, i+1)
		add(false, slices.Concat(whole[:b], whole[a:]), "packet %d twice", i)
		add(i == 0, slices.Concat(whole[:a], whole[b:]), "without packet %d", i)
		if i > 3 {
			break
		}
	}
	return list
}
