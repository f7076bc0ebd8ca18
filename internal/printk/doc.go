// Package printk prints a static tracepoint's record as the kernel prints it.
//
// The kernel publishes, with each event, the C source of its text: a format
// string and the expressions of its arguments (`print fmt`). Parse makes a tree
// of it; Render evaluates the tree on a record's bytes with C's integer
// arithmetic and formats the values as the kernel's vsprintf does.
//
//	t := printk.Describe(ev, resolver)    // where the kernel is that was traced
//	p := printk.NewPrinter(t, names)      // there or on another machine
//	text = p.Line(text[:0], record, time)
//
// What a record does not hold is asked of a Resolver: enumerators, types and
// addresses of symbols. Describe puts the answers into an event.KernelText, which is
// data; only names of addresses are asked for when a record is printed. A value that
// is not known is replaced by the reason in parentheses: "age=(jiffies is not
// recorded)". Printing never fails and never panics, whatever the record.
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
// Import rule: printk imports ctype, event and debuginfo/tracefs only.
package printk
