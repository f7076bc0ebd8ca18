package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/lang"
)

// What a name is that no function of the program has: a system call, an event or a function of the kernel, a counter.

var (
	tracefsRoots = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}
	hardware     = []string{"cpu-cycles", "instructions", "cache-references", "cache-misses", "branch-instructions", "branch-misses", "bus-cycles"}
	software     = []string{"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults"}
	shortCounter = map[string]string{"cycles": "cpu-cycles", "branches": "branch-instructions", "faults": "page-faults", "cs": "context-switches", "migrations": "cpu-migrations"}
)

// meaningOf says which places of the kernel have a name; "" if none has.
func meaningOf(name string) string {
	var is []string
	if eventName.MatchString(name) {
		if len(events("syscalls", "sys_enter_"+name)) > 0 {
			is = append(is, fmt.Sprintf("the system call is syscall:%s", name))
		}
		for _, place := range events("*", name) {
			is = append(is, "the event of the kernel is "+place)
		}
		if len(is) == 0 && isKernelFunction(name) {
			is = append(is, fmt.Sprintf("the function of the kernel is fentry:%s or kprobe:%s, its return fexit:%s or kretprobe:%s", name, name, name, name))
		}
	}
	counter := name
	if full, ok := shortCounter[name]; ok {
		counter = full
	}
	switch {
	case slices.Contains(hardware, counter):
		is = append(is, fmt.Sprintf("the counter is hardware:%s:1000000 (each millionth)", counter))
	case slices.Contains(software, counter):
		is = append(is, fmt.Sprintf("the counter is software:%s:1", counter))
	}
	return strings.Join(is[:min(len(is), 3)], "; ")
}

// events lists tracepoints of the kernel by their names, as places.
func events(subsystem, event string) (places []string) {
	for _, root := range tracefsRoots {
		dirs, _ := filepath.Glob(filepath.Join(root, "events", subsystem, event, "id"))
		for _, d := range dirs {
			dir := filepath.Dir(d)
			places = append(places, "tracepoint:"+filepath.Base(filepath.Dir(dir))+":"+filepath.Base(dir))
		}
		if len(places) > 0 {
			break
		}
	}
	return places
}

// isKernelFunction looks for a function in the kernel's list of symbols.
func isKernelFunction(name string) bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) >= 3 && words[2] == name && strings.ContainsAny(words[1], "tTwW") {
			return true
		}
	}
	return false
}

var notFunction = regexp.MustCompile(`^no function "(.*)"$`)

// explained adds to the error of a place what the place may mean elsewhere, where the error has no similar name.
func explained(err error, places []string) error {
	var d *jalon.Diagnostic
	if !errors.As(err, &d) || d.Source != "place" || strings.HasPrefix(d.Hint, "did you mean") {
		return err
	}
	if m := notFunction.FindStringSubmatch(d.Message); m != nil {
		if hint := meaningElsewhere(m[1], d.Text, places); hint != "" {
			return lang.At("place", d.Text, lang.Span{Lo: d.Offset, Hi: d.End}, d.Message, hint)
		}
	}
	return err
}

// meaningElsewhere says what a place may mean that is no function of the program.
func meaningElsewhere(name, place string, places []string) string {
	if text := meaningOf(name); text != "" {
		return text
	}
	file, function, ok := strings.Cut(place, ":")
	if ok && functionName.MatchString(function) && file != "uprobe" && file != "u" {
		return "a function of a program or library is " + quoted("uprobe:"+file+":"+function) + ", one of a source file FILE.c:" + function
	}
	if i := slices.Index(places, place); i > 0 {
		return fmt.Sprintf("what to collect at a place follows -c: %s -c %s", quoted(places[i-1]), quoted(place))
	}
	return ""
}
