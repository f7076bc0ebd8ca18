package script

import (
	"reflect"
	"sync"
)

// Children returns the parts of a node in the order of the text, without nil.
func Children(n Node) []Node {
	var out []Node
	v := reflect.ValueOf(n).Elem()
	for _, i := range partsOf(v.Type()) {
		f := v.FieldByIndex(i)
		if f.Kind() != reflect.Slice {
			out = appendPart(out, f)
			continue
		}
		for k := range f.Len() {
			out = appendPart(out, f.Index(k))
		}
	}
	return out
}

func appendPart(out []Node, v reflect.Value) []Node {
	if v.IsNil() || v.Kind() == reflect.Interface && v.Elem().IsNil() {
		return out
	}
	return append(out, v.Interface().(Node))
}

var (
	nodeType = reflect.TypeFor[Node]()
	parts    sync.Map // by reflect.Type, what partsOf returns
)

// partsOf returns the fields of a type of nodes that are nodes or lists of nodes. They are declared in the order of the text.
func partsOf(t reflect.Type) [][]int {
	if list, ok := parts.Load(t); ok {
		return list.([][]int)
	}
	var list [][]int
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			for _, part := range partsOf(f.Type) {
				list = append(list, append([]int{i}, part...))
			}
		case f.Anonymous:
		case f.Type.Implements(nodeType), f.Type.Kind() == reflect.Slice && f.Type.Elem().Implements(nodeType):
			list = append(list, []int{i})
		}
	}
	parts.Store(t, list)
	return list
}

// absent reports nil, also as an interface of a nil pointer of the types that are optional parts.
func absent(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *Block:
		return n == nil
	case *TypeOf:
		return n == nil
	}
	return false
}

// Walk calls f for n and, if f returns true, for all its parts.
func Walk(n Node, f func(Node) bool) {
	if absent(n) || !f(n) {
		return
	}
	for _, c := range Children(n) {
		Walk(c, f)
	}
}
