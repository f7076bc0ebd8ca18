package lang

import (
	"fmt"
	"reflect"
	"strings"
)

// dump shows the structure of a tree as nested lists, without its spans.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Struct:
		fmt.Fprintf(b, "(%s", v.Type().Name())
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "node" || f.Type == reflect.TypeFor[Span]() {
				continue
			}
			b.WriteByte(' ')
			dumpValue(b, v.Field(i))
		}
		b.WriteByte(')')
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dumpValue(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

// someTypes is the isType of most tests.
func someTypes(name string) bool {
	switch name {
	case "T", "::T", "uint32_t", "ns::T", "size_t", "V<int>", "n::V<T, 3>", "V<V<int>>", "n::V<int *>":
		return true
	}
	return false
}
