package inferior

import (
	"slices"
	"strings"
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
