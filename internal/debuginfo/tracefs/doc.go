// Package tracefs reads the kernel's list of static tracepoints and the layout of their records (the `format`
// files). A format file is read only when its event is requested. Listing 2,300 events opens only
// directories.
//
//	fs, err := tracefs.Open()
//	ev, err := fs.Event("sched", "sched_switch")
//	ev.Record()   // struct of the fields at their real offsets, for args->
//	ev.PrintFmt   // what package printk prints records with
//
// # Dynamic arrays
//
// A field `__data_loc T[] name` is a word of 4 bytes, length<<16 | offset; the
// array's bytes begin offset bytes after the record's first byte. In
// `__rel_loc T[] name` the offset counts from the end of the word itself. The
// type of such a member is
//
//	Typedef "__data_loc" or "__rel_loc", Size 4 -> Array of T, Count -1
//
// ctype.Dynamic recognises it. Strip removes the typedef, so call Dynamic first.
//
// Import rule: tracefs imports ctype, debuginfo and lang only.
package tracefs
