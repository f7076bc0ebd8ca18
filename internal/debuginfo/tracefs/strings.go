package tracefs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Strings reads printk_formats: kernel strings whose addresses occur in records (rcu_utilization's "Start
// context switch"), by address.
func (f *FS) Strings() (map[uint64]string, error) {
	text, err := os.ReadFile(filepath.Join(f.root, "printk_formats"))
	if err != nil {
		return nil, fmt.Errorf("reading the strings of the kernel's tracepoints: %w", err)
	}
	return parseStrings(string(text)), nil
}

// parseStrings reads lines `0xADDRESS : "text"` and ignores others.
func parseStrings(text string) map[uint64]string {
	out := map[uint64]string{}
	for _, line := range strings.Split(text, "\n") {
		addr, quoted, ok := strings.Cut(line, " : ")
		n, err := strconv.ParseUint(strings.TrimSpace(addr), 0, 64)
		if !ok || err != nil || len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			continue
		}
		out[n] = unescape(quoted[1 : len(quoted)-1])
	}
	return out
}

// unescape replaces the kernel's escape sequences: \n \t \\ and \".
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`).Replace(s)
}
