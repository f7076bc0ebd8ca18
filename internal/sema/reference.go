package sema

import (
	"fmt"
	"strings"
)

// Reference is docs/builtins.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Words and functions

Generated from the table in internal/sema/builtins.go by ` + "`make generate`" + `; a test compares them.

Words are written with a dollar. In the kernel engine some can be written without it, unless the place has
something of that name. An *item* must be an item of its own in a collect list; the others can be part of
an expression. In addition there are the registers ($rax, $eax, $al, ..., $rip, $eflags, $xmm0, as in GDB),
and arg0, arg1, ... at the entry of a function.

| written | value | in a process | in the kernel | in GDB | what it is |
|---|---|---|---|---|---|
`)
	for _, w := range builtins {
		if w.inner {
			continue
		}
		t := w.Type
		if w.ItemOnly() {
			t = "item"
		}
		gdb := ""
		if w.GDB != "" {
			gdb = "`$" + w.GDB + "`"
			if w.NoProcess != "" {
				gdb += " (kernel)"
			}
		}
		written := "`" + w.Written() + "`"
		if w.bare() {
			written += ", `" + w.Name + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", written, t, use(w.inProcess), use(w.inKernel), gdb, w.Doc)
	}
	var no []string
	for _, w := range builtins {
		if w.NoProcess != "" {
			no = append(no, "`$"+w.GDB+"`: "+w.NoProcess)
		}
	}
	b.WriteString(`
*In GDB* is the trace state variable that has the value in conditions and actions of tracepoints, under
` + "`jalon gdbserver`" + ` and ` + "`jalon gdbserver --kernel`" + `: ` + "`condition 1 $current_task_tgid == 4242`" + `.
The names are KGTP's, if KGTP has the value; as there, $current_task_pid is the number of the thread.
Those marked *kernel* exist only with --kernel (` + strings.Join(no, "; ") + `). In a process only
$current_task_tgid is known to the program at the site. The tracer looks up the others, so such a site
stops its thread at each hit.
`)
	return b.String()
}

// use returns the table's cell for an engine.
func use(l *lowering) string {
	switch {
	case l == nil:
		return ""
	case l.value == nil && l.call == nil:
		return "collected"
	}
	return "yes"
}

// Help lists what can be written, for the help of a command.
func Help() string {
	var all []string
	for _, w := range builtins {
		if !w.inner {
			all = append(all, w.Written())
		}
	}
	return strings.Join(all, " ")
}
