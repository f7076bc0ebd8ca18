package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
)

// What a name is that no function of the program has: a system call, an event or a function of the kernel, a counter.

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
	if !eventName.MatchString(strings.ReplaceAll(name, "-", "_")) {
		return ""
	}
	for kind, count := range map[string]string{"hardware": "1000000 (each millionth)", "software": "1"} { // no name is in both
		if p, err := probe.Parse(kind + ":" + name); err == nil {
			is = append(is, fmt.Sprintf("the counter is %s:%s:%s", kind, p.Event, count))
		}
	}
	return strings.Join(is[:min(len(is), 3)], "; ")
}

// events lists tracepoints of the kernel by their names, as places; none where tracefs cannot be read.
func events(subsystem, event string) (places []string) {
	fs, err := tracefs.Open()
	if err != nil {
		return nil
	}
	names, _ := fs.Match(subsystem, event) // that no event matches is an error
	for _, n := range names {
		places = append(places, "tracepoint:"+n.String())
	}
	return places
}

// isKernelFunction looks for a function in the kernel's list of symbols.
func isKernelFunction(name string) bool {
	table, err := kallsyms.Open()
	return err == nil && slices.ContainsFunc(table.Lookup(name), kallsyms.Symbol.IsText)
}

// explained adds to the error of a place what the place may mean elsewhere, where the error has no similar name.
func explained(err error, places []string) error {
	var d *jalon.Diagnostic
	if !errors.As(err, &d) || d.Source != "place" || strings.HasPrefix(d.Hint, "did you mean") {
		return err
	}
	if m := lineOf.FindStringSubmatch(d.Text); m != nil && strings.HasPrefix(d.Message, "no source file") && functionName.MatchString(m[1]) {
		return lang.At("place", d.Text, lang.Span{Lo: d.Offset, Hi: d.End}, d.Message, fmt.Sprintf("an instruction of a function is %s+%s, with the bytes from its entry; a source line is FILE.c:%[2]s", m[1], m[2]))
	}
	if d.Missing != "" {
		if hint := meaningElsewhere(d.Missing, d.Text, places); hint != "" {
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
