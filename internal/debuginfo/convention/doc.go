// Package convention says where values are by the calling convention of C on x86-64 (System V psABI 3.2.3):
// arguments at the first instruction of a function, results at its return. What is not certain by the types has no
// location but a reason.
//
// Import rule: it imports arch/amd64, ctype and debuginfo.
package convention
