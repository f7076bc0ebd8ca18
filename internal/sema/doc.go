// Package sema gives names and types to syntax trees and turns them into hit programs: lang's
// expressions + a debuginfo.Scope -> typed tree -> ir.Program, with the event.Schema by which
// the reader decodes records.
//
// Two phases, in this order, for each expression:
//
//   - check (check.go, expr_*.go): names are looked up, C's conversions are made explicit
//     nodes, and everything that can be wrong is diagnosed: after it nothing can fail.
//     tree.go has the nodes. checker goes down the syntax tree; it uses parts
//     with their own files, each of which uses only those before it: report, site (what can
//     be read at the place), conversions, class, operators, lookup (names), members, containers.
//     collect*.go plans the fields, actions.go the changes of maps (maps.go declares them: the
//     contract with scripts).
//   - lower: emits IR. Faults are edges: to "count, taken as false" in a condition, to the
//     field's status byte in a collect list. lower_emit.go and location.go need no tree
//     (emitter); lower_value.go, lower_cond.go and place.go emit values and places (values);
//     lower_decide.go what a kernel program decides before; lower.go, lower_field.go and
//     record.go the fields (lowerer).
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
