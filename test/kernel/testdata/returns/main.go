// Returns is a program whose goroutines' stacks grow.
package main

import "fmt"

//go:noinline
func grow(n int) int {
	var a [1024]byte
	a[n%1024] = byte(n)
	if n == 0 {
		return int(a[0])
	}
	return grow(n-1) + int(a[n%1024])&1
}

func main() {
	c := make(chan int)
	for range 20 {
		go func() { c <- grow(300) }()
	}
	sum := 0
	for range 20 {
		sum += <-c
	}
	fmt.Println(sum)
}
