package lang

import (
	"fmt"
	"reflect"
	"strings"
)

// dump shows the structure of a tree as nested lists, without its spans and Bare.
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
			if f.Name == "node" || f.Name == "Bare" || f.Type == reflect.TypeFor[Span]() {
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
		fmt.Fprintf(b, "%v", v)
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

// parsed is src as an expression where isType says what is a type; nil: nothing is.
func parsed(src string, isType func(string) bool) (Expr, error) {
	x, err := ParseExpr(src)
	if err != nil {
		return nil, err
	}
	return decided(src, x, isType)
}

func decided(src string, x Expr, isType func(string) bool) (Expr, error) {
	if isType == nil {
		isType = func(string) bool { return false }
	}
	x, d := Decide(x, isType)
	if d != nil {
		return nil, At("expression", src, d.Span, d.Msg, d.Hint)
	}
	if left := openIn(reflect.ValueOf(x)); left != "" {
		panic("Decide leaves a " + left + " in " + src)
	}
	return x, nil
}

// openIn names a node of a tree that Decide should have replaced.
func openIn(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return openIn(v.Elem())
		}
	case reflect.Struct:
		if n := v.Type().Name(); n == "Open" || n == "Maybe" || n == "Sizeof" && !v.FieldByName("X").IsNil() && !v.FieldByName("Type").IsNil() {
			return n
		}
		for i := range v.NumField() {
			if n := openIn(v.Field(i)); n != "" {
				return n
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if n := openIn(v.Index(i)); n != "" {
				return n
			}
		}
	}
	return ""
}

func parsedList(src string, isType func(string) bool) ([]Collect, error) {
	items, err := ParseCollect(src)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if items[i].X, err = decided(src, items[i].X, isType); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// wrongType names a type of a tree that is none: sema refuses such a cast, which has no
// printed form that is read as a cast again.
func wrongType(v reflect.Value, isType func(string) bool) string {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return wrongType(v.Elem(), isType)
		}
	case reflect.Struct:
		if ty, ok := v.Interface().(TypeName); ok && ty.Tag == "" && !isBase(ty.Name) && (isType == nil || !isType(ty.Name)) {
			return ty.Name
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if n := wrongType(v.Field(i), isType); n != "" {
					return n
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if n := wrongType(v.Index(i), isType); n != "" {
				return n
			}
		}
	}
	return ""
}

func isBase(name string) bool {
	for _, n := range baseTypes {
		if n == name {
			return true
		}
	}
	return false
}
