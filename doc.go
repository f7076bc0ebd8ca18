// Package jalon puts tracepoints on running programs and on the Linux kernel, and gives the
// events that they record.
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
// [Attach] is a running process, [Command] a program to start, [System] the kernel and every
// process. Places of the kernel (tracepoint:, kprobe:, ...) can be traced beside a process.
//
// # Errors
//
// Errors are of three kinds. What the user wrote wrongly is a [*Diagnostic], with the position
// in the text and often a hint. What the machine refuses is an [*Error], with what was attempted
// and the remedy; errors.Is(err, fs.ErrPermission) reports missing rights. A defect of this
// package is a panic that begins with "BUG:".
//
// # Processors
//
// Tracing inside a process needs x86-64. The command jalon is written on this package.
package jalon
