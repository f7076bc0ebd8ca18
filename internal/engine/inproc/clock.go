package inproc

// A program may forbid its threads to read the time stamp counter (prctl PR_SET_TSC, and
// strict seccomp). Records then get their time from the tracer: rdtsc raises a signal,
// which the tracer answers with its own counter, the same one. That is right, and slow.
//
// What happens when jalon is killed: programs compiled since it is known begin with the
// dead man's switch, and the handler of memory faults in the process sends a thread past
// an rdtsc that it has come to already.

const rdtscLen = 2
