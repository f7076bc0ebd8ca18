package kernel

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestMarkers(t *testing.T) {
	e := open(t).e
	list, err := e.Markers()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]string{}
	for _, m := range list {
		if other := seen[m.Addr]; other != "" {
			t.Errorf("%s and %s have the address %#x", m.ID, other, m.Addr)
		}
		seen[m.Addr] = m.ID
	}
	if len(list) < 500 {
		t.Errorf("%d markers", len(list))
	}
	for _, id := range []string{"sched:sched_switch", "syscalls:sys_enter_openat"} {
		addr := at(t, e, id)
		one, err := e.MarkersAt(addr)
		if err != nil || len(one) != 1 || one[0].ID != id {
			t.Errorf("%#x: %v, %v", addr, one, err)
		}
	}
	if want, ok := e.k.Address("__traceiter_sched_switch"); !ok || at(t, e, "sched:sched_switch") != want {
		t.Errorf("sched_switch is not at %#x", want)
	}
}

// writeTracefs writes a line to a file of tracefs.
func writeTracefs(file, what string) error {
	f, err := os.OpenFile("/sys/kernel/tracing/"+file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(what + "\n")
	return errors.Join(err, f.Close())
}

// A probe that a user defines in tracefs is not a static tracepoint: the kernel passes
// no record of it to programs.
func TestDefinedProbe(t *testing.T) {
	e := open(t).e
	name := fmt.Sprintf("jalontest%d:late", os.Getpid())
	slashed := strings.Replace(name, ":", "/", 1)
	if err := writeTracefs("uprobe_events", "p:"+slashed+" /proc/self/exe:0x1000"); err != nil {
		skip(t, err.Error())
	}
	list, err := e.matching("jalontest*:*")
	if err := writeTracefs("uprobe_events", "-:"+slashed); err != nil {
		t.Error(err)
	}
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
