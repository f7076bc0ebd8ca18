// Package memory reads and writes the memory of a process from outside (/proc/PID/mem), hides jalon's own
// breakpoints from the result, and finds room in it: gaps near an address for code (gaps.go), and slack
// after the code of an executable page for the recovery stub of injected calls (slack.go).
//
// It runs nothing in the process and stops no thread. Writes to code are safe only for bytes that no thread
// executes meanwhile, or one byte at a time; the caller must ensure this.
//
// Import rule: memory imports process/sys and procdir and nothing else of jalon.
package memory
