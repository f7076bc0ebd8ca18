package main

import "fmt"

type L[T any] struct{ v []T }

func (l *L[T]) Add(t T) { l.v = append(l.v, t) }
func Map[A, B any](a []A, f func(A) B) []B {
	var o []B
	for _, x := range a {
		o = append(o, f(x))
	}
	return o
}

type S struct{ n int }

func (s *S) Ptr() int { return s.n }
func (s S) Val() int  { return s.n + 1 }
func main() {
	l := &L[int]{}
	l.Add(3)
	m := &L[S]{}
	m.Add(S{1})
	s := &S{4}
	f := s.Ptr
	g := func() int { return func() int { return s.Val() }() }
	defer func() { fmt.Println("d") }()
	fmt.Println(Map(l.v, func(i int) string { return fmt.Sprint(i) }), Map(m.v, func(x S) int { return x.n }), f(), g())
}
