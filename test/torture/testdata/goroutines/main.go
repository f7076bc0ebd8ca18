// Goroutines come as near to the ends of their stacks as Go allows, in functions
// without a stack check.
package main

import "fmt"

// below uses what a function behind its check has left, but for a few bytes.
//
//go:nosplit
//go:noinline
func below(n int) int {
	var a [85]int
	a[n&63] = n
	return leaf(n) + a[n&63]
}

//go:nosplit
//go:noinline
func leaf(n int) int { return n*31 + 7 }

// down goes n frames down before it calls below; frames are small, so that some
// goroutine is close to the limit of its stack.
//
//go:noinline
func down(n int) int {
	if n == 0 {
		return wide(5)
	}
	return down(n-1) + 1
}

// wide has the largest frame that needs no more than the limit itself.
//
//go:noinline
func wide(n int) int {
	var a [13]int
	a[n&7] = n
	r := below(n)
	return r + a[n&7] - n
}

func main() {
	const goroutines = 64
	wrong := 0
	for depth := range 120 {
		done := make(chan int)
		start := make(chan bool)
		for range goroutines {
			go func() {
				<-start
				done <- down(depth)
			}()
		}
		close(start)
		for range goroutines {
			if got := <-done; got != depth+5*31+7+5 {
				wrong++
			}
		}
	}
	fmt.Println("wrong", wrong)
}
