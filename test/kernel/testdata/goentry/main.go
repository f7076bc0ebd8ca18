// Goentry is a program whose goroutines' stacks grow, in functions with frames of several sizes.
package main

import "fmt"

//go:noinline
func small(n int, s string) int {
	if n == 0 {
		return len(s)
	}
	return small(n-1, s) + 1
}

//go:noinline
func medium(n int, s string) int {
	var a [500]byte
	a[n%500] = byte(n)
	if n == 0 {
		return len(s)
	}
	return medium(n-1, s) + int(a[n%500])&1
}

//go:noinline
func large(n int, s string) int {
	var a [9000]byte
	a[n%9000] = byte(n)
	if n == 0 {
		return len(s)
	}
	return large(n-1, s) + int(a[n%9000])&1
}

//go:nosplit
//go:noinline
func leaf(n int) int { return n + 1 }

func main() {
	const goroutines = 20
	c := make(chan int)
	for range goroutines {
		go func() { c <- small(300, "small") }()
		go func() { c <- medium(200, "medium") }()
		go func() { c <- large(50, "large") }()
		go func() { c <- leaf(7) }()
	}
	sum := 0
	for range 4 * goroutines {
		sum += <-c
	}
	fmt.Println(sum)
}
