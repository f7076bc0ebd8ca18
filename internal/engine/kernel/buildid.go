package kernel

import (
	"encoding/hex"
	"os"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
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
	return hex.EncodeToString(elf.FindNote(notes, 4, "GNU", gnuBuildID))
}
