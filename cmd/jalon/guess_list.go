package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/probe"
)

// guessList explains arguments of list of which the first is no file; "" if it cannot.
func guessList(args []string) string {
	first := args[0]
	if _, err := os.Stat(first); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if len(args) > 1 && kindOfFile(args[1]) == aProgram {
		return fmt.Sprintf("there is no file %s. The functions of %s: jalon list %s", first, args[1], args[1])
	}
	system, event, two := strings.Cut(first, ":")
	if two && kindOfFile(system) == aProgram {
		return fmt.Sprintf("there is no file %s. The functions of %s: jalon list %[2]s %s", first, system, quoted(event))
	}
	if two && (system == "usdt" || system == "U") && kindOfFile(event) == aProgram {
		return fmt.Sprintf("there is no file %s. The markers of %s: jalon list 'usdt:%[2]s:*'", first, event)
	}
	if !two {
		event = "*"
	}
	if counters := map[string]string{"hw": "hardware", "sw": "software"}[system]; counters != "" {
		system = counters
	}
	switch k := kindOfWord(system); {
	case k != nil && k.Kernel && len(k.EventNames()) > 0:
		return fmt.Sprintf("there is no file %s. Events of %s are %s", first, k.Form, strings.Join(k.EventNames(), ", "))
	case k != nil && k.Kernel:
		return fmt.Sprintf("there is no file %s. Places of a kind are listed by a pattern: jalon list '%s:*'", first, k.Words[0])
	case k != nil, system == "uprobe", system == "u":
		return fmt.Sprintf("there is no file %s. The functions of a program or library: jalon list FILE", first)
	}
	for _, pattern := range []string{system, system + "*"} {
		if strings.ContainsAny(system, "/ ") || len(events(pattern, event)) == 0 {
			continue
		}
		return fmt.Sprintf("there is no file %s. Events of the kernel: jalon list 'tracepoint:%s:%s'", first, pattern, event)
	}
	if name := strings.Trim(system, "*"); !two && name != "" && !strings.Contains(name, "/") && len(events("*", "*"+name+"*")) > 0 {
		return fmt.Sprintf("there is no file %s. Events of the kernel: jalon list 'tracepoint:*:*%s*'", first, name)
	}
	if path, err := exec.LookPath(first); err == nil {
		return fmt.Sprintf("there is no file %s here. The program's functions: jalon list %s", first, strings.Join(append([]string{path}, args[1:]...), " "))
	}
	return ""
}

// kindOfWord is the kind of places of a name or short word.
func kindOfWord(name string) *probe.Kind {
	i := slices.IndexFunc(probe.Kinds(), func(k *probe.Kind) bool { return slices.Contains(k.Words, name) })
	if i < 0 {
		return nil
	}
	return probe.Kinds()[i]
}
