// Package image describes an address space: the mapped files, their addresses and load biases, their paths
// through a mount namespace or after an upgrade, the names of addresses, the frames of a stack, the dynamic
// linker's lists, thread-local data, and static markers. An Image belongs to a process, or is made from a list
// of modules (Restore); then it names addresses without the process. Kernel is the image of the running kernel;
// parts of it can be in a saved list too.
// Files are opened on first use, through openfile.
//
// Import rule: image imports debuginfo, openfile, procdir and what is below them. It
// neither stops nor writes to a process; memory is read by a function of the caller.
package image
