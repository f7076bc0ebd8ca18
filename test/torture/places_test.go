package torture

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// instructions lists the addresses of all instructions of a file, as objdump has them.
func instructions(t *testing.T, file string) []uint64 {
	t.Helper()
	listings.Lock()
	defer listings.Unlock()
	if list := listings.of[file]; list != nil {
		return list
	}
	cmd := exec.Command("objdump", "-d", "--no-show-raw-insn", "-j", ".text", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var list []uint64
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		addr, text, ok := strings.Cut(sc.Text(), ":\t")
		if !ok || strings.HasPrefix(text, "(bad)") || strings.HasPrefix(text, "...") {
			continue
		}
		if a, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64); err == nil {
			list = append(list, a)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("objdump -d %s: %v", file, err)
	}
	if len(list) < 1000 {
		t.Fatalf("objdump -d %s lists %d instructions", file, len(list))
	}
	listings.of[file] = list
	return list
}

var listings = struct {
	sync.Mutex
	of map[string][]uint64
}{of: map[string][]uint64{}}

// share returns the part of the instructions for one round: every n-th, with a different start each round,
// or, dense, neighbours. All rounds together use each instruction once.
func share(all []uint64, round, rounds int, dense bool) (out []uint64) {
	if dense {
		return all[len(all)*round/rounds : len(all)*(round+1)/rounds]
	}
	for i := round; i < len(all); i += rounds {
		out = append(out, all[i])
	}
	return out
}

// placesFile writes the tracepoints as a file of GDB's.
func placesFile(t *testing.T, name, module string, addrs []uint64, f form) {
	t.Helper()
	var b bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&b, "trace uprobe:%s:%#x\n", module, a)
		if f.cond != "" {
			fmt.Fprintf(&b, "condition $bpnum %s\n", f.cond)
		}
		if f.collect != "" {
			fmt.Fprintf(&b, "actions $bpnum\ncollect %s\nend\n", f.collect)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

var refusedPlace = regexp.MustCompile(`(?m)^ *\d+ \| uprobe:[^ ]*:(0x[0-9a-f]+)\s*$`)

// refused are the addresses that jalon's diagnostics are about.
func refused(stderr string) map[uint64]bool {
	out := map[uint64]bool{}
	for _, m := range refusedPlace.FindAllStringSubmatch(stderr, -1) {
		if a, err := strconv.ParseUint(m[1], 0, 64); err == nil {
			out[a] = true
		}
	}
	return out
}
