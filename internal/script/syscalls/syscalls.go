// Package syscalls has the names and numbers of system calls, for scripts.
//
// Import rule: syscalls imports nothing of jalon.
package syscalls

import (
	"strconv"
	"strings"
	"sync"
)

// tables are the names by number, and the numbers by name.
var tables = sync.OnceValues(func() (map[uint64]string, map[string]uint64) {
	names, numbers := map[uint64]string{}, map[string]uint64{}
	next := uint64(0)
	for _, word := range strings.Fields(text) {
		if n, err := strconv.ParseUint(word, 10, 32); err == nil {
			next = n
			continue
		}
		names[next], numbers[word] = word, next
		next++
	}
	return names, numbers
})

// Name returns the name of a system call, "" if there is none of that number.
func Name(n uint64) string {
	names, _ := tables()
	return names[n]
}

// Number returns the number of a system call.
func Number(name string) (n uint64, ok bool) {
	_, numbers := tables()
	n, ok = numbers[name]
	return n, ok
}
