package main

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// Command lines as users of other tools type them first. Each function returns what to type instead, or "".

// aliases are words in place of a subcommand that other tools understand.
var aliases = map[string][]string{
	"help": {"--help"}, "-V": {"version"}, "--version": {"version"}, "-version": {"version"},
}

// withoutAlias replaces the first argument if it is an alias. "help COMMAND" is "COMMAND --help".
func withoutAlias(args []string) []string {
	if len(args) == 2 && args[0] == "help" {
		return []string{args[1], "--help"}
	}
	if len(args) > 0 && aliases[args[0]] != nil {
		return append(aliases[args[0]][:1:1], args[1:]...)
	}
	return args
}

// guessCommand explains a first argument that is not a subcommand.
func guessCommand(args []string) string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return ""
	}
	names := commandNames()
	if slices.Contains(names, args[0]) {
		return ""
	}
	switch kindOfFile(args[0]) {
	case aProgram:
		return fmt.Sprintf("%s is a program. To trace a function of it: jalon trace FUNCTION -- %s; to list its functions: jalon list %s",
			args[0], strings.Join(args, " "), args[0])
	case aScript:
		return fmt.Sprintf("%s is a script. To run it: jalon run %s", args[0], args[0])
	}
	if text := otherCommand(args); text != "" {
		return text
	}
	if _, err := exec.LookPath(args[0]); err == nil {
		return fmt.Sprintf("there is no command %q. To trace the program %[1]s: jalon trace FUNCTION -- %s, its system calls: jalon trace 'syscall:*' -- %[2]s", args[0], strings.Join(args, " "))
	}
	return fmt.Sprintf("there is no command %q; the commands are %s. To trace a place: jalon trace %s ...", args[0], strings.Join(names, ", "), quoted(args[0]))
}

// guessPlaces explains arguments in the list of places that are not places.
func guessPlaces(command string, places, program []string, pid int) string {
	for i, text := range places {
		if i > 0 && strings.HasPrefix(text, "{") {
			body := strings.TrimSuffix(strings.TrimPrefix(strings.Join(places[i:], " "), "{"), "}")
			return fmt.Sprintf("statements are executed by --do: jalon trace %s --do %s; a script by jalon run -e", placesBefore(places[:i]), quoted(strings.TrimSpace(body)))
		}
		if text == "if" && i > 0 && i+1 < len(places) {
			return fmt.Sprintf("a place and its condition are one argument: %s", quoted(places[i-1]+" if "+strings.Join(places[i+1:], " ")))
		}
		if i > 0 && comparison.MatchString(strings.ReplaceAll(text, "->", ".")) {
			return fmt.Sprintf("a condition is a part of its place: %s", quoted(places[i-1]+" if "+text))
		}
		if i == 0 && severalNames.MatchString(text) {
			return "each place is an argument: " + strings.Join(betweenNames.Split(text, -1), " ")
		}
		if other := otherPlace(text); other != "" {
			return other
		}
		switch kindOfFile(text) {
		case aScript:
			return fmt.Sprintf("%s is a script. To run it: jalon run %s", text, text)
		case aProgram:
			if len(program) == 0 && pid == 0 {
				return fmt.Sprintf("%s is a program. To start and trace it: jalon %s %s -- %s", text, command, placesBefore(places[:i]), strings.Join(places[i:], " "))
			}
			return fmt.Sprintf("%s is a file, not a place. For a function of it: %s", text, quoted("uprobe:"+text+":FUNCTION"))
		}
		if full := kernelEvent(text); full != "" {
			return fmt.Sprintf("an event of the kernel is written %s", quoted(full))
		}
	}
	return ""
}

var betweenNames = lazyregexp.New(`[^\w]+`)

// comparison is a condition without a place.
var comparison = lazyregexp.New(`^[$\w.()\[\]*]+ *(?:[<>]=?|==?|!=) *[\w"'.$-]+$`)

// severalNames are functions in one argument.
var severalNames = lazyregexp.New(`^[A-Za-z_]\w*(?:(?:[,|+&]| *[,;] *)[A-Za-z_]\w*)+$`)

func placesBefore(list []string) string {
	if len(list) == 0 {
		return "FUNCTION"
	}
	var out []string
	for _, p := range list {
		out = append(out, quoted(p))
	}
	return strings.Join(out, " ")
}

// kernelEvent returns the place of an event that is written as perf writes it, SUBSYSTEM:EVENT, or "".
func kernelEvent(text string) string {
	place, rest, _ := strings.Cut(text, " ")
	subsystem, event, two := strings.Cut(place, ":")
	if !two || !eventName.MatchString(subsystem) || !eventName.MatchString(event) {
		return ""
	}
	if len(events(subsystem, event)) > 0 || subsystem == "syscalls" || subsystem == "sched" { // these two also where tracefs cannot be read
		return strings.TrimSpace("tracepoint:" + place + " " + rest)
	}
	return ""
}

var eventName = lazyregexp.New(`^[a-z_][a-z0-9_]*$`)

type fileKind uint8

const (
	anything fileKind = iota
	aProgram
	aScript // in bpftrace's language
)

// kindOfFile says what a file is that was named in place of something else. Only names with a slash or a suffix
// count: a function may have the name of a file.
func kindOfFile(name string) fileKind {
	if strings.HasSuffix(name, ".bt") {
		return aScript
	}
	if !strings.Contains(name, "/") || strings.ContainsAny(name, " :*@") {
		return anything
	}
	f, err := openfile.Regular(name)
	if err != nil {
		return anything
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err == nil && bytes.Equal(head, []byte("\x7fELF")) {
		return aProgram
	}
	return anything
}

// quoted writes an argument as a shell takes it.
func quoted(s string) string {
	if plainArgument.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var plainArgument = lazyregexp.New(`^[A-Za-z0-9_./:@%+=,-]+$`)
