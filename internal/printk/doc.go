// Package printk formats a static tracepoint's record as the kernel does. For each event the kernel publishes C
// source: a format string and expressions for its arguments (`print fmt`). Parse parses it. Render evaluates
// the tree on a record's bytes with C's integer arithmetic and formats the values like the kernel's vsprintf.
//
//	t := printk.Describe(ev, resolver)    // where the kernel is that was traced
//	p := printk.NewPrinter(t, names)      // there or on another machine
//	text = p.Line(text[:0], record, time)
//
// A Resolver supplies information that is not in a record: enumerators, types and addresses of symbols.
// Describe stores it in an event.KernelText, which is plain data. When a record is printed, only names of
// addresses are resolved. An unknown value is replaced by the reason in parentheses: "age=(jiffies is not
// recorded)". Printing never fails and never panics, whatever the record contains.
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
