package runner

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/session"
)

// brief calls step three times, and ends at the end of its input.
const brief = `
#include <stdio.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) void step(long n) { sum += n; }
int main(void) {
	char c;
	for (long i = 0; i < 3; i++) step(i);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return read(0, &c, 1) != 0;
}
`

// TestClearedAtTheEnd: a map that a timer clears when the program has ended is cleared.
func TestClearedAtTheEnd(t *testing.T) {
	path := compileC(t, "brief", brief)
	in, goOn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, std, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	first := true
	end := func(string) ([]byte, error) {
		if !first {
			return nil, nil
		}
		first = false
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Error(err)
		}
		goOn.Close()
		for deadline := time.Now().Add(time.Minute); unix.Kill(pid, 0) == nil && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // until the session has ended too, most likely; otherwise it is cleared as always
		return nil, nil
	}
	src := strings.ReplaceAll(`uprobe:PROG:step { @n += arg0 + 1; } interval:ms:1 /@n == 6/ { print(@n); system("end"); clear(@n); }`, "PROG", path)
	got, m := runScript(t, src, Options{Options: interp.Options{System: end}, Argv: []string{path}, IO: session.IO{In: in, Out: std}})
	if m.SiteMaps() != 1 || got != "@n: 6\n" {
		t.Errorf("%d maps are at the sites:\n%s", m.SiteMaps(), got)
	}
}
