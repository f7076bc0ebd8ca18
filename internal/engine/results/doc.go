// Package results says where a function has its result when it returns: by its type, the calling convention of its language,
// and, where these leave it open, the machine code of the function and of its callers. What is not certain has a reason in
// place of a location.
//
// Import rule: it knows debug information and machine code, and no engine: processes and the kernel have the same results.
package results
