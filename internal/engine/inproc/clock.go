package inproc

// A program may forbid its threads to read the time stamp counter (prctl PR_SET_TSC, and strict seccomp).
// Records then get their time from the tracer: rdtsc raises a signal, and the tracer supplies the value of
// its own counter, which is the same one. The result is right, but slow.
//
// If jalon is killed: programs compiled after this was detected begin with the dead man's switch. If a
// thread has already reached an rdtsc, the handler of memory faults in the process continues it after the
// rdtsc.

const rdtscLen = 2
