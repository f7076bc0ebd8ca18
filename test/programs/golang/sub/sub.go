// Package sub has a variable of the name that another package has too.
package sub

// Counter counts the sum of Add.
var Counter = 10

var list = []int{1, 2, 3}

// T is a type with a method.
type T struct {
	A int
	B string
}

// Add adds.
//
//go:noinline
func (t *T) Add(n int, s string) int {
	Counter += n
	list = append(list, n)
	return t.A + n + len(s) + len(list)
}
