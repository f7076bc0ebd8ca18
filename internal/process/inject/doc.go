// Package inject runs system calls in threads of a traced process, so that the program does
// not notice, whatever happens to jalon meanwhile.
//
//   - injector.go: which thread is borrowed, how a call runs, how the thread is given back;
//     the type injection has the steps, and the reason why each state between two is safe.
//   - stub_amd64.go: the recovery stub that calls run from. When jalon is killed in the middle
//     of one, the thread gets its registers and its signal mask back by itself.
//   - workspace.go: where the stub and the arguments are, in an address space.
//   - seccomp.go, bpf.go: whether the thread's filters let it do that.
//   - sequences.go: restartable sequences (rseq(2)), which a call must not continue.
//
// What it needs of the tracer is Host: five functions.
//
// Import rule: inject imports process/sys, process/memory and process/threads.
package inject
