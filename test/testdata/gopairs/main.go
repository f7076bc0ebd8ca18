// Calls whose stacks grow and move while they are active.
package main

import (
	"runtime"
	"sync"
	"time"
)

//go:noinline
func deep(n, x int) int {
	var a [64]int
	a[n%64] = x
	if n == 0 {
		return a[0]
	}
	return deep(n-1, x) + a[(n+1)%64]
}

//go:noinline
func paired(id, depth int) int {
	if depth > 0 {
		paired(id+1000000, depth-1)
	}
	deep(depth*40, id)
	switch {
	case id == 5:
		panic(id)
	case id%97 == 0:
		time.Sleep(time.Millisecond)
	case id%3 == 0:
		runtime.Gosched()
	case id%31 == 0:
		runtime.GC()
	}
	deep(id%300, 1)
	return id
}

//go:noinline
func fails(id int) {
	defer func() { _ = recover() }()
	paired(id, 0)
}

func main() {
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 40 {
				fails(5)
				if id := 10 + g*100 + i; paired(id, i%2+1) != id {
					panic("wrong result")
				}
			}
		}()
	}
	wg.Wait()
}
