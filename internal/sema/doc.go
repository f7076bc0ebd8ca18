// Package sema gives names and types to syntax trees and turns them into hit programs: lang's
// expressions + a debuginfo.Scope -> typed tree -> ir.Program, with the event.Schema by which
// the reader decodes records.
//
// Two phases, in this order, for each expression:
//
//   - check (check.go, expr_*.go, types.go): names are looked up, C's conversions
//     are made explicit nodes, and everything that can be wrong is diagnosed:
//     after it nothing can fail. tree.go has the nodes.
//   - lower (lower_*.go, location.go, place.go, record.go): emits IR. Faults are
//     edges: to "count, taken as false" in a condition, to the field's status
//     byte in a collect list.
//
// C means C17 as gcc and clang implement it for x86-64 System V. Where C leaves
// behaviour undefined the machine's own answer is given: signed arithmetic
// wraps, shift counts are taken modulo the width, float-to-integer conversions
// out of range give what cvttsd2si gives. Differences between the compilers:
// bit-fields wider than int keep their declared type (as clang; gcc computes
// with the exact width).
//
// The kernel engine (Input.Kernel; kernel*.go, lower_kernel.go) adds what a program
// in the kernel finds: arguments and records in the context block, the words of
// the hit ($task, pid, comm, ...), per-CPU data, dynamic arrays, frames; and
// filters and decisions before the condition. It has no floating point and trusts
// no address but those of the kernel's own static data.
//
// Import rule: sema imports ctype, debuginfo, lang, ir, event and ring only.
package sema
