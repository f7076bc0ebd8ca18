// Package regalloc finds out where values of a hit program live and gives them
// registers, for every backend. Control flows forward only, so one pass over the blocks
// in their order is exact, and a value's life is one interval.
//
//	liveness.go  positions and live intervals
//	linear.go    linear scan: registers and spill slots
//
// A backend says what it emits (Backend) and what its machine has (Machine). It adds
// values of its own behind the program's: the record's address, a context pointer.
//
// Import rule: regalloc imports ir only.
package regalloc
