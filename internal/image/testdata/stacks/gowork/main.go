// Work of a Go program with deep and varied stacks, interrupted by a timer.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"unsafe"
)

type tree struct {
	left, right *tree
	key         string
}

func (t *tree) insert(key string) *tree {
	switch {
	case t == nil:
		return &tree{key: key}
	case key < t.key:
		t.left = t.left.insert(key)
	default:
		t.right = t.right.insert(key)
	}
	return t
}

func (t *tree) walk(visit func(string)) {
	if t != nil {
		t.left.walk(visit)
		visit(t.key)
		t.right.walk(visit)
	}
}

func work(n int) (total int) {
	var root *tree
	words := map[string]int{}
	for i := range n {
		key := fmt.Sprintf("%x-%v", i*7919%n, float64(i)/3)
		root = root.insert(key)
		words[strings.ToUpper(key)]++
	}
	root.walk(func(key string) { total += len(key) })
	list := make([]string, 0, len(words))
	for w := range words {
		list = append(list, w)
	}
	sort.Slice(list, func(i, j int) bool { return list[i] > list[j] })
	return total + len(list)
}

func main() {
	often := [4]int64{0, 500, 0, 500}
	syscall.RawSyscall(syscall.SYS_SETITIMER, 2, uintptr(unsafe.Pointer(&often)), 0)
	for {
		if work(300) == 0 {
			os.Exit(1)
		}
	}
}
