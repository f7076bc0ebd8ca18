// A program whose functions are left in all the ways that Go has, while stacks grow and the collector runs.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

//go:noinline
func grow(n int, p *int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return *p
	}
	return grow(n-1, &room[n%64]) + room[n%64] - n + 1
}

//go:noinline
func several(i int) (n int, s string, err error, f float64) {
	return i * 3, fmt.Sprint("value ", i), errors.New("an error"), float64(i) / 2
}

//go:noinline
func fails(n int) int {
	if n >= 0 {
		panic(n)
	}
	return n
}

//go:noinline
func middle(n int) int { return fails(n) + 1 }

//go:noinline
func recovers(n int) (r int) {
	defer rescue(&r)
	return middle(n)
}

//go:noinline
func rescue(r *int) {
	if x := recover(); x != nil {
		*r = x.(int) * 2
	}
}

//go:noinline
func leaf(a, b int) int { return a*b + 1 }

//go:noinline
func work(n int, sum *int) {
	for i := range n {
		x := i
		*sum += grow(i%40, &x) + recovers(i) + leaf(i, i)
		if i%50 == 0 {
			runtime.GC()
		}
	}
}

func main() {
	var all sync.WaitGroup
	sums := make([]int, 4)
	for i := range sums {
		all.Add(1)
		go func() {
			defer all.Done()
			work(150, &sums[i])
		}()
	}
	all.Wait()
	fmt.Println(sums)
	for i := range 20 {
		several(i)
	}
}
