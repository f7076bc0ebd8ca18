// What Go's programmers write: nil, len, cap, elements. See TestGoWords.
package main

import (
	"errors"
	"fmt"
)

type T struct{ a, b int }

//go:noinline
func work(s []int, str string, m map[string]int, p *T, err error, arr [3]int16, e any, ch chan int, f func(int) int) int {
	n := len(s) + len(str) + len(m)
	if p != nil && err == nil && f == nil {
		n += int(arr[1])
	}
	return n + len(ch) + cap(ch) // look here
}

func main() {
	c := make(chan int, 4)
	c <- 1
	s := append(make([]int, 0, 5), 1, 2, 3)
	fmt.Println(work(s, "hello", map[string]int{"a": 1}, &T{1, 2}, errors.New("bad"), [3]int16{4, 5, 6}, 7, c, func(i int) int { return i }))
	fmt.Println(work(nil, "", nil, nil, nil, [3]int16{7, 8, 9}, nil, nil, nil))
}
