package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// Habits of users of strace, perf, bpftrace and GDB: commands, flags and places as they are written there.

// otherCommands are commands of other tools, and what does the same here. %s is the rest of the command line.
var otherCommands = map[string]string{
	"attach": "jalon trace PLACE -p %s", "break": "jalon trace %s -- PROGRAM", "b": "jalon trace %s -- PROGRAM", "tbreak": "jalon trace %s -n 1 -- PROGRAM",
	"strace": "jalon trace 'syscall:*' -- %s", "ltrace": "jalon trace 'FUNCTION*' -- %s", "ls": "jalon list %s; to trace the program ls: jalon trace 'syscall:*' -- ls", "info": "jalon list PROGRAM", "functions": "jalon list %s",
	"events": "jalon list 'tracepoint:*'", "probes": "jalon list %s", "tracepoints": "jalon list 'tracepoint:*'", "show": "jalon list %s",
	"count": "jalon trace %s --count VALUE", "funccount": "jalon trace %s --count VALUE", "hist": "jalon trace %s --hist VALUE",
	"latency": "jalon trace %s --latency", "funclatency": "jalon trace %s --latency", "top": "jalon trace 'profile:99' -c '$bt' -p PID",
	"script": "jalon run %s", "bpftrace": "jalon run %s", "exec": "jalon trace PLACE -- %s", "start": "jalon trace PLACE -- %s", "gdb": "jalon gdbserver %s",
	"server": "jalon gdbserver %s", "replay": "jalon report %s", "dump": "jalon report %s", "print": "jalon trace PLACE -c %s", "probe": "jalon trace %s -- PROGRAM", "annotate": "jalon report DIR --count --by EXPR", "watch": "jalon trace FUNCTION -c EXPR -- PROGRAM", "display": "jalon trace PLACE -c %s -- PROGRAM", "bt": "jalon trace PLACE -c '$bt' -- PROGRAM", "backtrace": "jalon trace PLACE -c '$bt' -- PROGRAM", "flamegraph": "jalon trace profile:99 -c '$bt' -f folded -p PID",
	"graph": "jalon trace 'FUNCTION*' -- %s", "tui": "jalon report %s", "stop": "jalon control PATH disable N", "disable": "jalon control PATH disable N", "enable": "jalon control PATH enable N",
	"stat": "jalon trace PLACE --count -- PROGRAM; counters of the processor are the places hardware:EVENT:COUNT", "uretprobe": "jalon trace uretprobe:%s", "funcgraph": "jalon trace 'FUNCTION*' -- %s", "trace-cmd": "jalon trace tracepoint:SUBSYSTEM:EVENT",
	"tracepoint": "jalon trace tracepoint:%s", "kprobe": "jalon trace kprobe:%s", "uprobe": "jalon trace uprobe:%s", "perf": "jalon trace PLACE -- PROGRAM", "uftrace": "jalon trace 'FUNCTION*' -- %s", "dtrace": "jalon run -e 'SCRIPT'", "stap": "jalon run -e 'SCRIPT'",
	"doctor": "jalon check", "status": "jalon check", "features": "jalon check",
}

// otherCommand returns what to type in place of a command of another tool, or "".
func otherCommand(args []string) string {
	form, ok := otherCommands[args[0]]
	if !ok {
		return ""
	}
	rest := "..."
	words := slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return strings.HasPrefix(a, "-") })
	if i := slices.IndexFunc(words, func(a string) bool { return kindOfFile(a) == aProgram }); i >= 0 && strings.HasSuffix(form, " -- PROGRAM") {
		form = strings.TrimSuffix(form, "PROGRAM") + words[i] // of perf probe -x PROGRAM
		words = slices.Delete(words, i, i+1)
	}
	if len(words) > 0 {
		rest = placesBefore(words)
	}
	if strings.Contains(form, "%s") {
		form = fmt.Sprintf(form, rest)
	}
	return fmt.Sprintf("there is no command %q: %s", args[0], form)
}

// otherForm is a form in which other tools write places and conditions; its text may be "".
type otherForm struct {
	form *lazyregexp.Regexp
	text func(m []string) string
}

// otherPlaces are places and conditions as other tools write them.
var otherPlaces = []otherForm{
	{lazyregexp.New(`^(\d{2,})$`), func(m []string) string {
		return fmt.Sprintf("%s is no place; for a process: -p %[1]s, for a source line FILE.c:%[1]s", m[1])
	}},
	{lazyregexp.New(`^(?:break|b|br|tbreak|trace|ftrace|tp|probe|at|on) +(\S.*)$`), func(m []string) string {
		if condition.MatchString(m[1]) { // the word is the name of a function
			return ""
		}
		return "a place needs no command before it: " + quoted(m[1])
	}},
	{lazyregexp.New(`^(?:line +)?(\d+)$|^:(\d+)$`), func(m []string) string {
		return fmt.Sprintf("a source line is written FILE.c:%s", m[1]+m[2])
	}},
	{lazyregexp.New(`^([\w./+-]+\.\w+)(?:,| +line +| +)(\d+)$`), func(m []string) string { return isWritten("a source line", m[1]+":"+m[2]) }},
	{lazyregexp.New(`^([\w/+-]+\.(?:c|cc|cpp|cxx|h|hh|hpp|rs|go|f90|S))$`), func(m []string) string {
		return fmt.Sprintf("a place in a source file is %s:LINE or %[1]s:FUNCTION; jalon list PROGRAM@%[1]s lists its lines", m[1])
	}},
	{lazyregexp.New(`^([A-Za-z_]\w*)@(?:arg|fparg|retval)[\w/,%]*$`), func(m []string) string {
		return fmt.Sprintf("the arguments are shown by -c '$args': %s -c '$args'", m[1])
	}},
	{lazyregexp.New(`^([A-Za-z_]\w*)@((?:lib|ld)[\w.+-]*\.so[\w.]*)$`), func(m []string) string { return isWritten("a function of a library", "uprobe:"+m[2]+":"+m[1]) }},
	{lazyregexp.New(`^((?:lib|ld-)[\w.+-]*\.so[\w.]*|libc|libm|libpthread):(\w*\*[\w*]*)$`), func(m []string) string {
		return isWritten("each function of a library", "uprobe:"+m[1]+":"+m[2])
	}},
	{lazyregexp.New(`^(?:sys_|__x64_sys_|SyS_|do_sys_)([a-z_0-9]+)$`), func(m []string) string {
		if len(events("syscalls", "sys_enter_"+m[1])) == 0 {
			return ""
		}
		return isWritten("a system call", "syscall:"+m[1])
	}},
	{lazyregexp.New(`^syscalls(?::\*)?$`), func([]string) string { return "all system calls are written 'syscall:*', one syscall:NAME" }},
	{lazyregexp.New(`^(?:(?:int|void|char|long|short|unsigned|signed|static|inline|struct|const|double|float|bool|size_t|ssize_t|extern|\w+_t)[ *]+)+([A-Za-z_]\w*) *\([^)]*\)$`), func(m []string) string { return isWritten("a function", m[1]) }},
	{lazyregexp.New(`^([^{]*[^:\s{])\s*\{(.*)\}$`), func(m []string) string {
		return fmt.Sprintf("statements are executed by --do: jalon trace %s --do %s; a script by jalon run -e", quoted(m[1]), quoted(strings.TrimSpace(m[2])))
	}},
	{lazyregexp.New(`^(\S+) +/(.+)/$`), func(m []string) string { return "a condition is written " + quoted(m[1]+" if "+m[2]) }},
	{lazyregexp.New(`^(\S+) +(?:when|where|unless|with|cond|condition|&&|and|thread \d+ if) +(.+)$`), func(m []string) string {
		return "a condition is written " + quoted(m[1]+" if "+m[2])
	}},
	{lazyregexp.New("^([\\w./+-]+)`([\\w*]+)$"), func(m []string) string { return "a function of a library is " + quoted("uprobe:"+m[1]+":"+m[2]) }},
	{lazyregexp.New(`^([\w./+-]+)!([\w*]+)$`), func(m []string) string { return "a function of a library is " + quoted("uprobe:"+m[1]+":"+m[2]) }},
}

// condition is what follows a place.
var condition = lazyregexp.New(`^if\b`)

func otherPlace(text string) string {
	if ordinary(text) {
		return ""
	}
	for _, p := range otherPlaces {
		if m := p.form.FindStringSubmatch(text); m != nil {
			if said := p.text(m); said != "" {
				return said
			}
		}
	}
	return ""
}

// ordinary reports whether a place is a name or FILE.EXT:LINE, as most places are: of the forms of other tools only those of system
// calls are names too. The regular expressions of the others need not be compiled then.
func ordinary(text string) bool {
	file, line, isLine := strings.Cut(text, ":")
	if isLine {
		return isDigits(line) && strings.Contains(file, ".") && consistsOf(file, "_./+-")
	}
	return consistsOf(text, "_") && !isDigits(text) && !strings.Contains(strings.ToLower(text), "sys")
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// consistsOf reports whether a text has only letters, digits, and the others.
func consistsOf(text, others string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r))
	})
}
