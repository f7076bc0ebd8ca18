package unwind

// Address spaces. A program counter of a process says nothing without the process, whose number may belong to another one later, and
// which may execute another program or load other code. So a stack in a key of a map has the number of an address space beside its own
// (ir.UserStack): what a process had mapped from some time on. Programs of the kernel and the tracer give these numbers, behind the table
// of stacks (package ring) in one map. The page before the nodes has, behind the table's own word,
//
//	SpaceNext    u64: the next number
//	SpaceLate    u64: hits that followed frame pointers, because there were no tables of the process
//	SpaceWanted  u64: not 0: such a process has been noted since the tracer looked, or one has ProcessAgain (see shared.go)
//
// and behind the nodes are
//
//		Processes entries of LateSize: LateSpace u64: a process << 32 | the number of its address space; LateWanted u64: not 0: there were
//		no tables at a hit. A process has the entry of the lowest bits of its number.
//		Spaces entries of SpaceSize: SpaceTgid u64: the process; SpaceTime u64: when the number was given, by CLOCK_MONOTONIC in ns
//
//	 1. The tracer gives a list of modules a number (ProcessList). It knows what the process had mapped then.
//	 2. A hit of a process without tables takes the number in the process's entry. If another process is there, or the entry was emptied at
//	    an exec or at a birth, the program takes the next number, writes its entry, and then the process's. Two CPUs may do so at once: both
//	    numbers are right.
//	 3. When all numbers are given, the process itself is the number, with SpaceProcess.
//
// Number 0 is none.
const (
	SpaceNext   = 8
	SpaceLate   = 16
	SpaceWanted = 24

	LateSize   = 16
	LateSpace  = 0
	LateWanted = 8

	Spaces    = 1 << 16
	SpaceSize = 16
	SpaceTgid = 0
	SpaceTime = 8
	// SpacesSize is the size of what is behind the nodes, SpacesAt where the spaces are in it.
	SpacesSize = SpacesAt + Spaces*SpaceSize
	SpacesAt   = Processes * LateSize

	// SpaceProcess says that a number is that of a process, which is named as it is when it is read.
	SpaceProcess = 1 << 31
	// SpaceShift is where ProcessList has the number.
	SpaceShift = 46
)
