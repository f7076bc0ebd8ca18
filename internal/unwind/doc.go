// Package unwind has compact tables for walking stacks: the call frame information of a
// module, compiled once, in 8 bytes a row. Walk follows a stack by them. Where a frame needs
// more than they can express (see None, General), the walk ends and reports it; it never
// guesses.
//
// Import rule: unwind imports debuginfo/dwarf/frame only. It is pure.
package unwind
