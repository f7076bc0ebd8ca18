// Package image knows an address space: which files lie where in it, how far from the
// addresses that they were linked for, the path that leads to the file behind a mount
// namespace or after an upgrade, the names of addresses, the frames of a stack, the
// dynamic linker's lists, thread-local data, static markers.
//
// An Image is that of a process, or one of which only the list of modules is known
// (Restore): then addresses are named without the process. Kernel is the image of the
// running kernel.
//
// Files are opened when something is asked of them, by way of openfile.
//
// Import rule: image imports debuginfo, openfile, procdir and what is below them. It
// neither stops nor writes to a process; memory is read by a function of the caller.
package image
