package unwind

// The shared area has the tables of many processes, in memory that programs of the kernel read and the tracer writes. It begins
// with Processes slots of ProcessSize bytes; a process has that of the lowest bits of its number, or none if another process has it:
//
//	ProcessTgid   u32: the process; 0: none
//	ProcessStale  u32: not 0: its code may have changed since the list was made
//	ProcessPages  how many pages of code the process had then (mm_struct.exec_vm); 0: the list is being made
//	ProcessList   number of the address space << SpaceShift | offset of the list << ListShift | modules in the list
//	ProcessAgain  u32: not 0: a stack in a key of a map has ended in code without tables since the tracer looked
//
// Behind them are lists of modules, as in an area of a process but with offsets into the shared area in place of addresses, and the
// tables, each once. What a walk can have found does not change: a list of a process is replaced by another one.
const (
	Processes    = 4096
	ProcessSize  = 32
	ProcessTgid  = 0
	ProcessStale = 4
	ProcessPages = 8
	ProcessList  = 16
	ProcessAgain = 24
	ListShift    = 16
	SharedLists  = Processes * ProcessSize
	// SharedModules is how many modules a list has at most.
	SharedModules = 128
)
