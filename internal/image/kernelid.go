package image

import (
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// BuildID is the running kernel's build-id as hexadecimal digits, "" when it has none.
func (k *Kernel) BuildID() string { return k.moduleID("") }

// moduleID is the build-id of a module, or of the kernel itself.
func (k *Kernel) moduleID(module string) string { return buildID(k.notes(module)) }

// notesOf reads the ELF notes of a loaded module, or of the kernel itself (elf(5)); nil
// when there are none.
func notesOf(module string) []byte {
	file := "/sys/kernel/notes"
	if module != "" {
		file = filepath.Join("/sys/module", filepath.Base(module), "notes/.note.gnu.build-id")
	}
	b, _ := os.ReadFile(file) // parts that are no modules, such as [bpf], have none
	return b
}

func buildID(notes []byte) string {
	const gnuBuildID = 3
	return hex.EncodeToString(elf.FindNote(notes, 4, "GNU", gnuBuildID))
}
