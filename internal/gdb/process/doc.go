// Package process makes processes targets of GDB: it joins process and session to
// what gdb/stub and gdb/experiment want of a target and of an engine.
//
// Import rule: see test/imports_test.go.
package process
