package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Habits of users of strace, perf, bpftrace and GDB: commands, flags and places as they are written there.

// otherCommands are commands of other tools, and what does the same here. %s is the rest of the command line.
var otherCommands = map[string]string{
	"attach": "jalon trace PLACE -p %s", "break": "jalon trace %s -- PROGRAM", "b": "jalon trace %s -- PROGRAM", "tbreak": "jalon trace %s -n 1 -- PROGRAM",
	"strace": "jalon trace 'syscall:*' -- %s", "ltrace": "jalon trace 'FUNCTION*' -- %s", "ls": "jalon list %s", "info": "jalon list PROGRAM", "functions": "jalon list %s",
	"events": "jalon list 'tracepoint:*'", "probes": "jalon list %s", "tracepoints": "jalon list 'tracepoint:*'", "show": "jalon list %s",
	"count": "jalon trace %s --count VALUE", "funccount": "jalon trace %s --count VALUE", "hist": "jalon trace %s --hist VALUE",
	"latency": "jalon trace %s --latency", "funclatency": "jalon trace %s --latency", "top": "jalon trace 'profile:99' -c '$bt' -p PID",
	"script": "jalon run %s", "bpftrace": "jalon run %s", "exec": "jalon trace PLACE -- %s", "start": "jalon trace PLACE -- %s", "gdb": "jalon gdbserver %s",
	"server": "jalon gdbserver %s", "replay": "jalon report %s", "dump": "jalon report %s", "print": "jalon trace PLACE -c %s", "probe": "jalon trace %s",
	"stat": "jalon trace PLACE --count -- %s", "uretprobe": "jalon trace uretprobe:%s", "funcgraph": "jalon trace 'FUNCTION*' -- %s", "trace-cmd": "jalon trace tracepoint:SUBSYSTEM:EVENT",
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
	if len(args) > 1 {
		rest = placesBefore(args[1:])
	}
	if strings.Contains(form, "%s") {
		form = fmt.Sprintf(form, rest)
	}
	return fmt.Sprintf("there is no command %q: %s", args[0], form)
}

// otherFlags are flags of other tools, by command; "" is the command line without a command.
var otherFlags = map[string]map[string]string{
	"": {
		"-e": "a script is executed by jalon run -e 'SCRIPT'; a system call is traced by jalon trace syscall:NAME",
		"-l": "jalon list lists functions and places of the kernel", "-p": "the command comes first: jalon trace PLACE -p PID",
		"-f": "the command comes first: jalon trace PLACE -f FORMAT", "-c": "the command comes first: jalon trace PLACE -c LIST",
		"-o": "the command comes first: jalon trace PLACE -o FILE", "-v": "jalon version prints the version; the command comes first: jalon trace -v PLACE",
	},
	"trace": {
		"-e":       "a system call is traced by jalon trace syscall:NAME; a script is executed by jalon run -e 'SCRIPT'",
		"-l":       "jalon list lists functions and places of the kernel",
		"-k":       "the stack of each hit is -c '$bt'",
		"-g":       "the stack of each hit is -c '$bt'",
		"-s":       "the maximum length of strings is --strlen N",
		"-t":       "times are shown by default; --time chooses which",
		"-r":       "times since the first event are --time start",
		"-y":       "-c chooses what is shown",
		"-i":       "one condition is a part of its place: 'PLACE if COND'",
		"-F":       "child processes are followed by default; --no-follow does not",
		"-S":       "sums are jalon trace PLACE --sum VALUE",
		"-w":       "the time of calls is --latency",
		"-m":       "the size of the buffers is --buffer SIZE",
		"-E":       "environment variables are set by env: -- env NAME=VALUE PROGRAM",
		"-u":       "the program runs as another user by: -- setpriv --reuid USER PROGRAM",
		"-b":       "a place is an argument without a flag: jalon trace PLACE",
		"--print":  "what to show is -c LIST",
		"--expr":   "what to show is -c LIST",
		"--show":   "what to show is -c LIST",
		"--args":   "the program and its arguments come last: -- PROGRAM ARGS",
		"--filter": "a condition is a part of its place: 'PLACE if COND'",
		"--if":     "a condition is a part of its place: 'PLACE if COND'",
		"--cond":   "a condition is a part of its place: 'PLACE if COND'",
		"--where":  "a condition is a part of its place: 'PLACE if COND'",
		"--limit":  "the number of events is -n N",
		"--max":    "the number of events is -n N",
		"--bt":     "the stack of each hit is -c '$bt'",
		"--return": "the returns of a function are the place FUNCTION%return",
		"--json":   "-f json prints JSON",
		"--follow": "child processes are followed by default; --no-follow does not",
		"--event":  "a place is an argument without a flag: jalon trace tracepoint:SUBSYSTEM:EVENT",
		"--call":   "what to show is -c LIST",
		"--kernel": "places of the kernel need no flag: kprobe:FUNCTION, tracepoint:SUBSYSTEM:EVENT",
	},
	"list": {
		"-l": "jalon list needs no -l: jalon list 'tracepoint:sched:*'", "-a": "all functions are listed without a pattern: jalon list PROGRAM",
		"-f": "all functions are listed without a pattern: jalon list PROGRAM", "-e": "places of the kernel are arguments: jalon list 'tracepoint:sched:*'",
	},
}

var unknownFlag = regexp.MustCompile(`unknown flag (-[\w-]+)`)

// otherFlag explains a flag that kong does not know, or returns "".
func otherFlag(args []string, err error) string {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	command := args[0]
	if strings.HasPrefix(command, "-") {
		command = ""
	}
	if command == "record" {
		command = "trace"
	}
	if text := otherFlags[command][m[1]]; text != "" {
		return fmt.Sprintf("there is no flag %s: %s", m[1], text)
	}
	return ""
}

// otherForm is a form in which other tools write places and conditions; its text may be "".
type otherForm struct {
	form *regexp.Regexp
	text func(m []string) string
}

// otherPlaces are places and conditions as other tools write them.
var otherPlaces = []otherForm{
	{regexp.MustCompile(`^(\d{2,})$`), func(m []string) string { return fmt.Sprintf("%s is no place; for a process: -p %s", m[1], m[1]) }},
	{regexp.MustCompile(`^(?:break|b|br|tbreak|trace|ftrace|tp|probe|at|on) +(\S.*)$`), func(m []string) string {
		if condition.MatchString(m[1]) { // the word is the name of a function
			return ""
		}
		return "a place needs no command before it: " + quoted(m[1])
	}},
	{regexp.MustCompile(`^([^{]*[^:\s{])\s*\{(.*)\}$`), func(m []string) string {
		return fmt.Sprintf("statements are executed by --do: jalon trace %s --do %s; a script by jalon run -e", quoted(m[1]), quoted(strings.TrimSpace(m[2])))
	}},
	{regexp.MustCompile(`^(\S+) +/(.+)/$`), func(m []string) string { return "a condition is written " + quoted(m[1]+" if "+m[2]) }},
	{regexp.MustCompile(`^(\S+) +(?:when|where|unless|with|cond|condition|&&|and|thread \d+ if) +(.+)$`), func(m []string) string {
		return "a condition is written " + quoted(m[1]+" if "+m[2])
	}},
	{regexp.MustCompile("^([\\w./+-]+)`([\\w*]+)$"), func(m []string) string { return "a function of a library is " + quoted("uprobe:"+m[1]+":"+m[2]) }},
	{regexp.MustCompile(`^([\w./+-]+)!([\w*]+)$`), func(m []string) string { return "a function of a library is " + quoted("uprobe:"+m[1]+":"+m[2]) }},
}

// condition is what follows a place.
var condition = regexp.MustCompile(`^if\b`)

func otherPlace(text string) string {
	for _, p := range otherPlaces {
		if m := p.form.FindStringSubmatch(text); m != nil {
			if said := p.text(m); said != "" {
				return said
			}
		}
	}
	return ""
}
