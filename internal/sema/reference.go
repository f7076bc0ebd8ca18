package sema

import (
	"fmt"
	"strings"
)

// Reference is docs/builtins.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Words and functions

Made from the table in internal/sema/builtins.go by ` + "`make generate`" + `; a test compares them.

Words are written with a dollar; in the kernel engine some are known without it, where nothing of the
place has that name. An *item* stands by itself in a collect list; all others can be part of an expression.
Beside these there are the registers ($rax, $eax, $al, ..., $rip, $eflags, $xmm0, as in GDB), and
arg0, arg1, ... at the entry of a function.

| written | value | in a process | in the kernel | in GDB | what it is |
|---|---|---|---|---|---|
`)
	for _, w := range builtins {
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
KGTP's names are used where KGTP has the value: there, too, $current_task_pid is the number of the thread.
Those marked *kernel* are there with --kernel only (` + strings.Join(no, "; ") + `). In a process
$current_task_tgid is known to the program at the site; all others the tracer looks up, so such a site
stops its thread at each hit.
`)
	return b.String()
}

// use says how an engine knows a builtin.
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
		all = append(all, w.Written())
	}
	return strings.Join(all, " ")
}
