package sema

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Containers: v[i], v.size(), len(s) and the like of the languages' own types whose elements lie one behind the other.
// No function of the program is called: what is read are the members that the function would read.

// container says where the members of a container are. Paths name members from the object; members of base classes
// are found as in C++. If a class has no member of such a path, it has another layout, and the row is not used.
type container struct {
	class string // without inline namespaces and template arguments; of Go's slices and Rust's, what comes before the element
	first string // the pointer to the first element, or the array that has all
	last  string // the pointer behind the last element, or
	count string // the number of elements
	room  string // Go's cap
	end   string // the pointer behind the last element that there is memory for
	elem  string // Rust: the type argument that the elements have, where the pointer is one to bytes
}

var containerTable = []container{
	{class: "std::vector", first: "_M_impl._M_start", last: "_M_impl._M_finish", end: "_M_impl._M_end_of_storage"},
	{class: "std::basic_string", first: "_M_dataplus._M_p", count: "_M_string_length"},
	{class: "std::basic_string_view", first: "_M_str", count: "_M_len"},
	{class: "std::array", first: "_M_elems"},
	{class: "std::span", first: "_M_ptr", count: "_M_extent._M_extent_value"},
	{class: "std::initializer_list", first: "_M_array", count: "_M_len"},
	{class: "std::valarray", first: "_M_data", count: "_M_size"},
	{class: "std::list", count: "_M_impl._M_node._M_size"},
	{class: "std::map", count: "_M_t._M_impl._M_node_count"},
	{class: "std::multimap", count: "_M_t._M_impl._M_node_count"},
	{class: "std::set", count: "_M_t._M_impl._M_node_count"},
	{class: "std::multiset", count: "_M_t._M_impl._M_node_count"},
	{class: "std::unordered_map", count: "_M_h._M_element_count"},
	{class: "std::unordered_multimap", count: "_M_h._M_element_count"},
	{class: "std::unordered_set", count: "_M_h._M_element_count"},
	{class: "std::unordered_multiset", count: "_M_h._M_element_count"},
	{class: "[]", first: "array", count: "len", room: "cap"}, // Go
	{class: "string", first: "str", count: "len"},
	{class: "&[]", first: "data_ptr", count: "length"}, // Rust
	{class: "&str", first: "data_ptr", count: "length"},
	{class: "alloc::vec::Vec", first: "buf.inner.ptr.pointer.pointer", count: "len", elem: "T"}, // the parts changed with rustc's versions
	{class: "alloc::vec::Vec", first: "buf.ptr.pointer.pointer", count: "len", elem: "T"},
	{class: "alloc::vec::Vec", first: "buf.ptr.pointer", count: "len", elem: "T"},
	{class: "alloc::vec::Vec", count: "len"},
	{class: "alloc::string::String", first: "vec.buf.inner.ptr.pointer.pointer", count: "vec.len"},
	{class: "alloc::string::String", first: "vec.buf.ptr.pointer.pointer", count: "vec.len"},
	{class: "alloc::string::String", first: "vec.buf.ptr.pointer", count: "vec.len"},
	{class: "alloc::string::String", count: "vec.len"},
}

// containers finds the elements of objects, and the pointer of a pointer class.
type containers struct {
	*site
	*conversions
	*classes
	*lookup
}

// content is where the elements of one object are. Each part is nil if the class does not have it.
type content struct {
	class string
	array expr // all elements, as an array object
	first expr // a pointer value
	count expr // a number
	room  expr
	end   expr // a pointer value
}

var inlineNamespaces = strings.NewReplacer("std::__cxx11::", "std::", "std::__1::", "std::")

// className is the name of a class in the table's form.
func className(s *ctype.Type) string {
	name := s.Name
	switch {
	case strings.HasPrefix(name, "[]"):
		return "[]"
	case strings.HasPrefix(name, "&[") || strings.HasPrefix(name, "&mut [") || strings.HasPrefix(name, "alloc::boxed::Box<["):
		return "&[]"
	case name == "&mut str" || strings.HasPrefix(name, "alloc::boxed::Box<str"):
		return "&str"
	}
	name, _, _ = strings.Cut(name, "<")
	return inlineNamespaces.Replace(name)
}

// contentOf finds the elements of object e; nil if its class is none of the table.
func (ct *containers) contentOf(e expr) *content {
	s := e.Type().Strip()
	if !isRecord(s) || !isLvalue(e) || s.Name == "" {
		return nil
	}
	name := className(s)
	for i := range containerTable {
		row := &containerTable[i]
		if row.class != name {
			continue
		}
		k := &content{class: row.class}
		switch b := ct.try(func() { ct.fill(k, row, e) }); {
		case b != nil && b.unavailable:
			panic(b) // it is such a container, without a value here
		case b == nil && k.count != nil:
			return k
		}
	}
	return nil
}

func (ct *containers) fill(k *content, row *container, e expr) {
	span := e.Span()
	part := func(path string) expr {
		if path == "" {
			return nil
		}
		x := ct.partAt(e, path)
		if x == nil {
			ct.fail(span, "the class has another layout", "")
		}
		return x
	}
	var first expr
	if k.class == "std::basic_string" {
		first = ct.opaqueText(e)
	}
	if first == nil {
		first = part(row.first)
	}
	if first != nil {
		if isArray(first.Type()) {
			k.array = first
			n := first.Type().Strip().Count
			k.count = &intConst{typed: typed{ctype.ULongT, span}, v: max(n, 0)}
			return
		}
		if k.first = ct.rvalue(first); !isPointer(k.first.Type()) {
			ct.fail(span, "the class has another layout", "")
		}
		if row.elem != "" {
			k.first = &conv{typed{ctype.PointerTo(ct.typeArgument(e, row.elem)), span}, k.first}
		}
	}
	if last := part(row.last); last != nil {
		end := ct.rvalue(last)
		size := ct.elemSize(span, elemOf(k.first.Type()))
		if size == 0 || !isPointer(end.Type()) {
			ct.fail(span, "the class has another layout", "")
		}
		k.count = convert(&ptrDiff{typed{ctype.LongT, span}, end, k.first, size}, ctype.ULongT)
	}
	if end := part(row.end); end != nil {
		k.end = ct.rvalue(end)
	}
	number := func(path string) expr {
		n := part(path)
		if n == nil {
			return nil
		}
		if n = ct.rvalue(n); !isInt(n.Type()) {
			ct.fail(span, "the class has another layout", "")
		}
		return n
	}
	if n := number(row.count); n != nil {
		k.count = n
	}
	k.room = number(row.room)
}

// typeArgument is a type argument of the class of e.
func (ct *containers) typeArgument(e expr, name string) *ctype.Type {
	for _, n := range e.Type().Strip().Names() {
		if n.Name == name && n.Kind == ctype.NestedType && n.Of != nil {
			return n.Of
		}
	}
	ct.fail(e.Span(), "the class has another layout", "")
	return nil
}

// opaqueText is the pointer of a std::string, where the debug information has only the name of the class of its first
// member (clang without -fstandalone-debug). This class has the pointer and nothing else: the next member is 8 bytes
// behind. The type of the characters is that of the string's own buffer.
func (ct *containers) opaqueText(e expr) expr {
	holder, length, buffer := ct.partAt(e, "_M_dataplus"), ct.partAt(e, "_M_string_length"), ct.partAt(e, "_M_local_buf")
	if holder == nil || length == nil || buffer == nil || !holder.Type().Strip().Incomplete || !isArray(buffer.Type()) {
		return nil
	}
	at, ok := holder.(*sub)
	next, ok2 := length.(*sub)
	if !ok || !ok2 || at.bitOff != 0 || next.bitOff != 64 {
		return nil
	}
	return &sub{typed: typed{ctype.PointerTo(elemOf(buffer.Type())), e.Span()}, x: e}
}

// partAt is the data member of e that a path leads to; nil if there is none.
func (ct *containers) partAt(e expr, path string) expr {
	for _, name := range strings.Split(path, ".") {
		m, res, _ := e.Type().Strip().Member(name, false, nil)
		if res != ctype.Single || m.Name != nil {
			return nil
		}
		e = ct.along(e, m.Path, e.Span())
	}
	return e
}

// needElements refuses elements of a container whose elements jalon cannot find.
func (ct *containers) needElements(k *content, span lang.Span) {
	if k.first == nil && k.array == nil {
		ct.fail(span, fmt.Sprintf("the elements of %s do not lie one behind the other, or not at a place that the debug information shows", k.class),
			"the number of elements is known; collect the object, or trace a place where the element has a name")
	}
}

// elementAt is element i of a container. An index that is not below the number of elements is a fault.
func (ct *containers) elementAt(k *content, i expr, span lang.Span) expr {
	ct.needElements(k, span)
	if !isInt(i.Type()) {
		ct.failOperand(i, "the index must be an integer, this is %s")
	}
	n, isConst := constInt(i)
	count, known := constInt(k.count)
	switch {
	case isConst && known && (n < 0 || n >= count):
		ct.fail(i.Span(), fmt.Sprintf("index %d is outside the %s, which has %d elements", n, k.class, count), "")
	case isConst && k.array != nil:
		if e := element(k.array, n, span); e != nil {
			return ct.target(e)
		}
	case k.array != nil && !ct.hasAddress(k.array):
		ct.fail(span, "this array is not in memory here: only a constant index can be used", "")
	}
	first := k.first
	if first == nil {
		first = ct.rvalue(k.array)
	}
	size := ct.elemSize(span, elemOf(first.Type()))
	at := &within{typed{ctype.ULongT, i.Span()}, convert(promoted(i), ctype.LongT), convert(k.count, ctype.ULongT)}
	return ct.target(&deref{typed{elemOf(first.Type()), span}, &ptrAdd{typed{first.Type(), span}, first, at, size, false}})
}

// methods are the functions of containers without arguments.
var methods = map[string]func(ct *containers, k *content, span lang.Span) expr{
	"size": countOf, "length": countOf, "len": countOf, "empty": isEmpty, "is_empty": isEmpty,
	"data": firstOf, "c_str": firstOf, "as_ptr": firstOf,
	"front": func(ct *containers, k *content, span lang.Span) expr {
		return ct.elementAt(k, &intConst{typed: typed{ctype.IntT, span}}, span)
	},
	"back": func(ct *containers, k *content, span lang.Span) expr {
		one := &intConst{typed: typed{ctype.LongT, span}, v: 1}
		return ct.elementAt(k, &arith{typed{ctype.ULongT, span}, "-", convert(k.count, ctype.ULongT), convert(one, ctype.ULongT)}, span)
	},
	"capacity": func(ct *containers, k *content, span lang.Span) expr { return ct.capacityOf(k, span) },
}

func countOf(_ *containers, k *content, span lang.Span) expr {
	return &conv{typed{ctype.ULongT, span}, k.count}
}

func isEmpty(_ *containers, k *content, span lang.Span) expr {
	return &conv{typed{ctype.BoolT, span}, &not{typed{ctype.IntT, span}, k.count}}
}

func firstOf(ct *containers, k *content, span lang.Span) expr {
	first := k.first
	if first == nil && k.array != nil {
		first = ct.rvalue(k.array)
	}
	if first == nil {
		return nil
	}
	return &conv{typed{ctype.PointerTo(elemOf(first.Type()).Strip()), span}, first}
}

// method is X.F(...) of a container or of a pointer class; it returns nil for everything else.
func (c *checker) method(x *lang.Call) expr {
	m, ok := x.Fn.(*lang.Member)
	if !ok {
		return nil
	}
	var e expr
	if c.try(func() { e = c.objectBefore(m) }) != nil || !isRecord(e.Type()) {
		return nil // the general rule reports it
	}
	if m.Name == "get" && len(x.Args) == 0 {
		if p := c.heldPointer(e); p != nil {
			return convertAt(p, x.Span())
		}
	}
	k := c.contentOf(e)
	if k == nil {
		return c.otherMethod(x, m, e)
	}
	if m.Name == "at" && len(x.Args) == 1 {
		return c.elementAt(k, c.value(x.Args[0]), x.Span())
	}
	if f := methods[m.Name]; f != nil && len(x.Args) == 0 {
		if r := f(c.containers, k, x.Span()); r != nil {
			return r
		}
	}
	known := "size() and empty()"
	switch {
	case !strings.HasPrefix(k.class, "std::"):
		known = "len() and is_empty()"
	case k.first != nil || k.array != nil:
		known = "size(), empty(), data(), front(), back() and at(i)"
	}
	c.fail(x.Span(), fmt.Sprintf("functions of the program cannot be called at a site; of %s jalon reads %s from the members", k.class, known),
		"collect the object to see its members")
	return nil
}

// objectBefore is the object whose member x is.
func (c *checker) objectBefore(x *lang.Member) expr {
	e := c.expr(x.X)
	if p := c.heldPointer(e); p != nil && x.Arrow {
		return c.pointeeRecord(p, x)
	}
	if isPointer(e.Type()) && isRecord(elemOf(e.Type())) {
		if o := c.synthetic(e, 0, x.X.Span()); o != nil {
			return o
		}
	}
	if isPointer(e.Type()) || x.Arrow && isArray(e.Type()) {
		e = c.pointeeRecord(c.rvalue(e), x)
	}
	return e
}

// otherMethod refuses the call of a class's function; it returns nil if the class has none of that name.
func (c *checker) otherMethod(x *lang.Call, m *lang.Member, e expr) expr {
	s := e.Type().Strip()
	f, res, _ := s.Member(m.Name, false, nil)
	if res == ctype.Absent || f.Name == nil || f.Name.Kind != ctype.Function {
		return nil
	}
	hint := ""
	if names := memberNames(s, 0); len(names) > 0 {
		hint = "its data members are " + strings.Join(names[:min(len(names), 6)], ", ")
	}
	c.fail(x.Span(), fmt.Sprintf("functions of the program cannot be called at a site, and %s() is a function of %s", m.Name, tagged(s)), hint)
	return nil
}

// heldPointer is the pointer that a std::unique_ptr or std::shared_ptr of libstdc++ holds; nil for everything else.
func (ct *containers) heldPointer(e expr) (p expr) {
	s := e.Type().Strip()
	if !isRecord(s) || !isLvalue(e) {
		return nil
	}
	path := ""
	switch className(s) {
	case "std::shared_ptr":
		path = "_M_ptr"
	case "std::unique_ptr":
		path = "_M_t._M_t"
	default:
		return nil
	}
	b := ct.try(func() {
		x := ct.partAt(e, path)
		if x != nil && isRecord(x.Type()) {
			x = ct.tupleHead(x, 0)
		}
		if x != nil && isPointer(x.Type()) {
			p = ct.rvalue(x)
		}
	})
	if b != nil && b.unavailable {
		panic(b)
	}
	return p
}

// tupleHead is the first element of a std::tuple of libstdc++.
func (ct *containers) tupleHead(e expr, depth int) expr {
	for _, f := range e.Type().Strip().Fields() {
		switch {
		case f.Base && !f.Virtual && depth < maxNesting:
			base := ct.along(e, []ctype.Field{f}, e.Span())
			if x := ct.tupleHead(base, depth+1); x != nil {
				return x
			}
		case f.Name == "_M_head_impl" && strings.HasPrefix(e.Type().Strip().Name, "std::_Head_base<0"):
			return ct.along(e, []ctype.Field{f}, e.Span())
		}
	}
	return nil
}
