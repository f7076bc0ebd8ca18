package procdir

import "encoding/binary"

// Entries of the auxiliary vector (getauxval(3)).
const (
	AuxPhdr      = 3  // the address of the program headers
	AuxPhent     = 4  // the size of one
	AuxPhnum     = 5  // the number of program headers
	AuxBase      = 7  // the address of the dynamic linker; 0 if there is none
	AuxEntry     = 9  // the address of the program's first instruction, to which the dynamic linker jumps
	AuxHardware2 = 26 // AT_HWCAP2, features of the processor
)

// Auxv reads a process's auxiliary vector.
func Auxv(pid int) ([]byte, error) { return file(pid, "auxv") }

// AuxValue looks up an entry in an auxiliary vector.
func AuxValue(auxv []byte, key uint64) (uint64, bool) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == key {
			return binary.LittleEndian.Uint64(auxv[8:]), true
		}
	}
	return 0, false
}
