package process

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// shell runs programs that are started through a shell.
const shell = "/bin/sh"

// shellArgs are the arguments that start a program through the shell, which then is
// replaced by it; without, argv itself.
func shellArgs(argv []string, through bool) []string {
	if !through {
		return argv
	}
	words := []string{"exec"}
	for _, a := range argv {
		words = append(words, shellQuote(a))
	}
	return []string{shell, "-c", strings.Join(words, " ")}
}

// shellQuote makes one word of a text for a POSIX shell.
func shellQuote(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:,+@%", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// expandHome puts the home directory in the place of a leading ~.
func expandHome(dir, home string) string {
	if home != "" && (dir == "~" || strings.HasPrefix(dir, "~/")) {
		return home + dir[1:]
	}
	return dir
}

// cannotExec is gdbserver's error for a file that is not a program.
func cannotExec(name string, err error) error {
	for number, words := range map[error]string{unix.EACCES: "Permission denied", unix.ENOENT: "No such file or directory"} {
		if errors.Is(err, number) {
			return fmt.Errorf("Cannot exec %s: %s", name, words) //nolint:staticcheck // gdbserver's words
		}
	}
	return err
}

// environment is base without the variables in unset, and with those in set, which
// come last, sorted by name.
func environment(base []string, set map[string]string, unset []string) []string {
	var out []string
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := set[name]; !replaced && !slices.Contains(unset, name) {
			out = append(out, entry)
		}
	}
	var added []string
	for name, value := range set {
		added = append(added, name+"="+value)
	}
	slices.Sort(added)
	return append(out, added...)
}
