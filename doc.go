// Package jalon sets tracepoints on running programs and on the Linux kernel, and returns the events that
// they record.
//
// A [Tracepoint] is a place, a condition and what to collect. The condition is a C expression
// over the variables in scope at the place. It is compiled to native code (x86-64 inside the
// process, eBPF in the kernel) and evaluated at the site, before anything is recorded; the
// program is not stopped.
//
//	t, err := jalon.Start(ctx, jalon.Attach(pid), jalon.Options{
//		Tracepoints: []jalon.Tracepoint{{Place: "server.c:120", Condition: "len > 4096", Collect: []string{"len, conn->peer"}}},
//	})
//	if err != nil {
//		return err
//	}
//	for ev := range t.Events() {
//		fmt.Println(ev.Time, ev.TID, ev.Value(0), ev.Value(1))
//	}
//	result, err := t.Wait()
//
// # Targets
//
// [Attach] traces a running process, [Command] starts a program and traces it, [System] traces the kernel
// and every process. A trace of a process can also have places of the kernel (tracepoint:, kprobe:, ...).
//
// # Errors
//
// Errors are of three kinds. An error in what the user wrote is a [*Diagnostic], with the position in the
// text and often a hint. An error of the machine is an [*Error], with what was attempted and the remedy;
// errors.Is(err, fs.ErrPermission) reports missing rights. A defect of this package is a panic that begins
// with "BUG:".
//
// # Processors
//
// Tracing inside a process needs x86-64. The jalon command is written on this package.
package jalon
