// Package loc translates DWARF location expressions and reads location lists. An
// expression becomes a list of debuginfo.Op, which is compiled like any other
// expression of the user's; it is never interpreted at a hit.
//
// What cannot be translated gives the reason in words. The results refer to
// registers by DWARF numbers.
//
// Import rule: loc imports debuginfo and debuginfo/dwarf/raw only.
package loc
