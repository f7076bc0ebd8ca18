// Package printk prints a static tracepoint's record as the kernel prints it.
//
// The kernel publishes, with each event, the C source of its text: a format
// string and the expressions of its arguments (`print fmt`). Parse makes a tree
// of it; Render evaluates the tree on a record's bytes with C's integer
// arithmetic and formats the values as the kernel's vsprintf does.
//
//	f, err := printk.ForEvent(ev)
//	text = f.Line(text[:0], record, resolver)
//
// What a record does not hold is asked of a Resolver: enumerators, types and
// addresses of symbols. What nobody knows stands in the text in parentheses, in
// place of the value: "age=(jiffies is not recorded)". Rendering never fails and
// never panics, whatever the record.
//
// # Where the text differs from the kernel's
//
//   - %p is printed as %px, the address itself. The kernel prints a hash of it
//     unless its trace option hash-ptr is off.
//   - Strings and objects elsewhere in the kernel's memory, which the kernel
//     reads when it prints, are said to be there: "(string at 0xffff...)", unless
//     the resolver knows them.
//   - The kernel's variables (jiffies) have no value of the time of the record.
//
// Import rule: printk imports ctype and debuginfo/tracefs only.
package printk
