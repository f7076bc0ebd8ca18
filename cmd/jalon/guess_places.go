package main

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// Places as DTrace, SystemTap, perf probe and BCC's tools write them.

func init() { otherPlaces = append(otherPlaces, toolPlaces...) }

// libraryOf is the place of a function of a program or library; "", a.out: the program.
func libraryOf(file, function string) string {
	if file == "" || file == "a.out" {
		return function
	}
	return "uprobe:" + file + ":" + function
}

// returned is the place of the returns if a probe is one of returns.
func returned(place, probe string) string {
	switch {
	case !strings.HasSuffix(probe, "return"):
		return place
	case strings.HasPrefix(place, "uprobe:"):
		return strings.Replace(place, "uprobe:", "uretprobe:", 1)
	}
	return place + "%return"
}

func isWritten(what, place string) string { return what + " is written " + quoted(place) }

// toolPlaces have at most one blank, which no place and no condition of jalon's has at that point.
var toolPlaces = []otherForm{
	// DTrace: provider:module:function:name
	{lazyregexp.New(`^pid(?:\$target|\$1|\d+):([^:]*):([^:]*):(entry|return|)$`), func(m []string) string {
		return isWritten("a function", returned(libraryOf(m[1], m[2]), m[3]))
	}},
	{lazyregexp.New(`^syscall:[^:]*:([^:]+):(entry|return)$`), func(m []string) string {
		if m[2] == "return" {
			return isWritten("a system call's end", "syscall:"+m[1]+":exit")
		}
		return isWritten("a system call", "syscall:"+m[1])
	}},
	{lazyregexp.New(`^fbt:([^:]*):([^:]+):(entry|return)$`), func(m []string) string {
		return isWritten("a function of the kernel", map[string]string{"entry": "kprobe:", "return": "kretprobe:"}[m[3]]+m[2])
	}},
	{lazyregexp.New(`^(?:profile:::)?(?:profile|tick)-(\d+)(hz|s|ms|us|sec|)$`), func(m []string) string {
		unit := map[string]string{"sec": "s", "": "hz"}[m[2]]
		if unit == "" {
			unit = m[2]
		}
		return isWritten("a timer on every CPU", "profile:"+unit+":"+m[1]) + ", on one CPU " + quoted("interval:"+unit+":"+m[1])
	}},
	// SystemTap
	{lazyregexp.New(`^process(?:\("([^"]*)"\))?\.function\("([^"]+)"\)((?:\.\w+)?)$`), func(m []string) string {
		return isWritten("a function", returned(libraryOf(m[1], m[2]), m[3]))
	}},
	{lazyregexp.New(`^(?:kernel|module\("[^"]*"\))\.function\("([^"@]+)[^"]*"\)((?:\.\w+)?)$`), func(m []string) string {
		if strings.HasSuffix(m[2], "return") {
			return isWritten("a return in the kernel", "kretprobe:"+m[1])
		}
		return isWritten("a function of the kernel", "kprobe:"+m[1])
	}},
	{lazyregexp.New(`^kernel\.trace\("(?:(\w+):)?(\w+)"\)$`), func(m []string) string {
		if m[1] == "" {
			m[1] = "*"
		}
		return isWritten("an event of the kernel", "tracepoint:"+m[1]+":"+m[2])
	}},
	{lazyregexp.New(`^(?:nd_)?syscall\.([\w*]+)(\.return)?$`), func(m []string) string {
		if m[2] != "" {
			return isWritten("a system call's end", "syscall:"+m[1]+":exit")
		}
		return isWritten("a system call", "syscall:"+m[1])
	}},
	{lazyregexp.New(`^timer\.(s|ms|us|hz)\((\d+)\)$`), func(m []string) string {
		return isWritten("a timer", "interval:"+m[1]+":"+m[2])
	}},
	// perf probe, ftrace, BCC
	{lazyregexp.New(`^(?:%return +(\S+)|([^ $]+)(?:\$return|\.return| +%?return))$`), func(m []string) string {
		return isWritten("the returns of a function", m[1]+m[2]+"%return")
	}},
	{lazyregexp.New(`^(r|retprobe|returns?):(?:([^:]+):)?([\w*]+)$`), func(m []string) string {
		if m[2] != "" {
			return isWritten("the returns of a function", "uretprobe:"+m[2]+":"+m[3])
		}
		return isWritten("the returns of a function", m[3]+"%return") + ", in the kernel " + quoted("kretprobe:"+m[3])
	}},
	{lazyregexp.New(`^p:(?:([^:]+):)?([A-Za-z_]\w*)$`), func(m []string) string {
		if m[1] == "hz" || m[1] == "s" || m[1] == "ms" || m[1] == "us" {
			return ""
		}
		return isWritten("a function", libraryOf(m[1], m[2])) + ", in the kernel " + quoted("kprobe:"+m[2])
	}},
	{lazyregexp.New(`^(\S+) +(?:\((.+)\) +)?"[^"]*" *, *(.+)$`), func(m []string) string {
		place := m[1]
		if m[2] != "" {
			place += " if " + m[2]
		}
		return fmt.Sprintf("what to show is a list: %s -c %s", quoted(place), quoted(m[3]))
	}},
	{lazyregexp.New(`^([A-Za-z_]\w*) +((?:\$?[A-Za-z_][\w>.-]*)(?:[ ,]+\$?[A-Za-z_][\w>.-]*)*)$`), func(m []string) string {
		if word, _, _ := strings.Cut(m[2], " "); word == "if" || word == "thread" {
			return ""
		}
		return fmt.Sprintf("what to show at a place follows -c: %s -c %s", quoted(m[1]), quoted(strings.Join(strings.FieldsFunc(m[2], func(r rune) bool { return r == ' ' || r == ',' }), ", ")))
	}},
}
