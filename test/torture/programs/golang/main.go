// Work of many kinds whose output is always the same: goroutines, growing stacks, the
// collector, panics, channels, timers, maps, reflection, compression, digests.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func deep(n int, a [16]int) int {
	if n == 0 {
		return a[3]
	}
	a[n%16] = n
	return deep(n-1, a) + a[5]
}

type node struct {
	Left, Right *node
	Value       int
}

func tree(depth, v int) *node {
	if depth == 0 {
		return &node{Value: v}
	}
	return &node{tree(depth-1, v*2), tree(depth-1, v*2+1), v}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.Value + n.Left.sum() + n.Right.sum()
}

//go:noinline
func risky(i int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered: %v", r)
		}
	}()
	var p *node
	switch i % 4 {
	case 0:
		return errors.New("plain")
	case 1:
		p.Value++ // a fault that the runtime makes a panic of
	case 2:
		_ = make([]int, 3)[i]
	}
	return nil
}

func main() {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadByte()
	fmt.Println("fib", fib(22))
	var wg sync.WaitGroup
	results := make([]int, 40)
	for i := range results {
		wg.Go(func() { results[i] = deep(i*40, [16]int{}) + tree(8, i).sum() }) // stacks grow
	}
	wg.Wait()
	fmt.Println("goroutines", results[0], results[20], results[39])
	jobs, done := make(chan int), make(chan int)
	var count atomic.Int64
	for range 4 {
		go func() {
			for j := range jobs {
				count.Add(int64(j))
				done <- j * j
			}
		}()
	}
	go func() {
		for i := range 2000 {
			jobs <- i
		}
		close(jobs)
	}()
	sum := 0
	for range 2000 {
		sum += <-done
	}
	fmt.Println("channels", sum, count.Load())
	kinds := map[string]int{}
	for i := range 400 {
		kinds[fmt.Sprint(risky(i%100))]++
	}
	var names []string
	for k, n := range kinds {
		names = append(names, fmt.Sprint(k, n))
	}
	sort.Strings(names)
	fmt.Println("panics", len(names), names[0], names[len(names)-1])
	for range 3 {
		runtime.GC()
	}
	var garbage [][]byte
	for i := range 3000 {
		if garbage = append(garbage, make([]byte, i)); len(garbage) > 100 {
			garbage = nil
		}
	}
	text := []byte(strings.Repeat("a line of text, 0123456789\n", 3000))
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write(text)
	w.Close()
	r, _ := gzip.NewReader(&zipped)
	back, err := io.ReadAll(r)
	fmt.Println("gzip", bytes.Equal(back, text), err)
	fmt.Printf("sha256 %x\n", sha256.Sum256(text))
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	spins := 0
	for ctx.Err() == nil { // preempted by signals
		spins++
	}
	fmt.Println("timeout", ctx.Err(), spins >= 0) // none, if the thread got no time within the millisecond
	var v map[string]any
	fmt.Println("json", json.Unmarshal([]byte(`{"a": [1, 2.5, {"b": null}], "c": "\u20ac"}`), &v), v)
	fmt.Println("regexp", len(regexp.MustCompile(`(\w+), (\d+)`).FindAllSubmatch(text, -1)), new(big.Int).Exp(big.NewInt(3), big.NewInt(500), big.NewInt(1e9+7)))
	os.Exit(7)
}
