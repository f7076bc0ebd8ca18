package kengine

import (
	"encoding/binary"
	"encoding/hex"
	"os"
)

// runningBuildID is the running kernel's build-id as hexadecimal digits, "" when it
// has none (elf(5), NT_GNU_BUILD_ID in /sys/kernel/notes).
func runningBuildID() string {
	b, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return ""
	}
	return buildID(b)
}

func buildID(notes []byte) string {
	const gnuBuildID = 3
	for len(notes) >= 12 {
		name, desc := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		kind := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[12:]
		nameEnd := (uint64(name) + 3) &^ 3
		end := nameEnd + (uint64(desc)+3)&^3
		if end > uint64(len(notes)) {
			return ""
		}
		if kind == gnuBuildID && string(notes[:name]) == "GNU\x00" {
			return hex.EncodeToString(notes[nameEnd : nameEnd+uint64(desc)])
		}
		notes = notes[end:]
	}
	return ""
}
