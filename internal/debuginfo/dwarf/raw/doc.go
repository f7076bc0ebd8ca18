// Package raw reads the bytes of DWARF sections: numbers, strings and attribute
// forms. It knows no sections, units or entries.
//
// A read past the end of the data gives zeros and marks the Cursor as bad; nothing
// here panics on any data.
//
// Import rule: raw imports nothing of jalon.
package raw
