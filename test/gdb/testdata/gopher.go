// Goroutines that call a function a known number of times, with a stack that grows.
package main

import (
	"fmt"
	"sync"
)

//go:noinline
func weigh(n int, name string) int {
	if n == 0 {
		return len(name)
	}
	return n + weigh(n-1, name)
}

//go:noinline
func done(total int) { fmt.Println("total", total) }

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			n := weigh(1000, fmt.Sprint("gopher", g))
			mu.Lock()
			total += n
			mu.Unlock()
		}()
	}
	wg.Wait()
	done(total)
}
