// Package frame reads DWARF call frame information (.eh_frame, .debug_frame and the
// search table .eh_frame_hdr): how the registers of a caller are recovered at a pc,
// and where exceptions resume.
//
// New makes a Table of a module's sections; Table.Find gives the Entry of a pc,
// Entry.Rule the Rule for it. Damaged data gives errors or no entry.
//
// Import rule: frame imports debuginfo, debuginfo/dwarf/raw and debuginfo/dwarf/loc only.
package frame
