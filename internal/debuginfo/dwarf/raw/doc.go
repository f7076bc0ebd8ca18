// Package raw reads the bytes of DWARF sections: numbers, strings and attribute forms. It does not depend
// on sections, units or entries.
//
// A read past the end of the data returns zeros and marks the Cursor as bad; no data cause a panic.
//
// Import rule: raw imports nothing of jalon.
package raw
