package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
)

// target is what a script runs with besides its text: a process, and parameters.
type target struct {
	argv   []string // the program to start; nil: none
	kill   bool     // the program of -c is ended with the script
	pid    int      // of -p; 0: none
	named  map[string]string
	params []string // further positional parameters
}

// target reads -c, -p and what follows "--": named parameters, then the program to start.
func (c *runCmd) target() (t target, err error) {
	if asBpftrace { // what follows -- are parameters, in any order
		t.named = map[string]string{}
		for rest := c.after; len(rest) > 0; {
			named, others := namedParams(rest)
			maps.Copy(t.named, named)
			if rest = others; len(rest) > 0 {
				t.params, rest = append(t.params, rest[0]), rest[1:]
			}
		}
	} else {
		t.named, t.argv = namedParams(c.after)
	}
	if c.Cmd != "" {
		// bpftrace has no programs after --: there, all are parameters.
		t.params, t.kill = append(t.params, t.argv...), true
		if t.argv, err = splitWords(c.Cmd); err != nil {
			return t, usageError("-c: " + err.Error())
		}
		if len(t.argv) == 0 {
			return t, usageError("-c: name a program")
		}
	}
	if c.Pid == "" {
		return t, nil
	}
	if t.argv != nil {
		return t, usageError("name a program to start, or a process with -p PID, not both")
	}
	t.pid, err = parsePid(c.Pid)
	return t, err
}

// namedParams reads the parameters --NAME and --NAME=VALUE; what begins otherwise is a program and its arguments.
func namedParams(args []string) (named map[string]string, program []string) {
	named = map[string]string{}
	for i, a := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !strings.HasPrefix(a, "--") || name == "" {
			return named, args[i:]
		}
		named[name] = value
	}
	return named, nil
}

// parsePid reads the number of a process.
func parsePid(s string) (int, error) {
	const most = 4 << 20 // PID_MAX_LIMIT of 64-bit kernels
	n, err := strconv.ParseUint(s, 10, 32)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		if text := pidOf(s); !asBpftrace && !strings.ContainsAny(s[:min(len(s), 1)], "-0123456789") { // it may be a name
			return 0, usageError(text)
		}
		return 0, usageError(fmt.Sprintf("-p: %q is not the number of a process", s))
	case err != nil || n == 0 || n > most:
		return 0, usageError(fmt.Sprintf("-p: %s is not between 1 and %d", s, most))
	}
	return int(n), nil
}

// splitWords splits a command as a shell does: words are separated by blanks; quotes and backslashes keep them
// together. Variables and patterns are not replaced: for those there is sh -c.
func splitWords(s string) ([]string, error) {
	var out []string
	var w strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '\'':
			if i++; i == len(s) {
				return nil, errors.New(`a backslash at the end quotes nothing`)
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`\n", rune(s[i])) {
				w.WriteByte('\\')
			}
			w.WriteByte(s[i])
			in = true
		case c == quote:
			quote = 0
		case quote != 0:
			w.WriteByte(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				out = append(out, w.String())
				w.Reset()
				in = false
			}
		default:
			w.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if in {
		out = append(out, w.String())
	}
	return out, nil
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.IsDir()
}
