package vmtest

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// archVar names the processor of the guests, as Go does. It is not the machine's own in `make test-arm64` only.
const archVar = "JALON_GUEST_ARCH"

// Arch is the processor of the guests.
var Arch = cmp.Or(os.Getenv(archVar), runtime.GOARCH)

// Kernels are the series that guest tests run under: the oldest kernel that jalon supports with BTF and the newest that Debian's stable
// release offers. On arm64 6.1 has no fentry.
var Kernels = boardOf(Arch).kernels

// Serial is the guest's end of Config.Line.
var Serial = boardOf(Arch).lines[1]

// board is a machine that QEMU emulates.
type board struct {
	kernels []string
	qemu    string   // the program, and Debian's package that has it
	pkg     string   //
	args    []string // the processor
	console string   // device of the first serial line
	line    string   // option of QEMU that adds a serial line, with %s for the name of a character device
	lines   []string // devices of the further lines: the results, Config.Line
	append  string   // more of the kernel's command line
	gcc     string
}

var boards = map[string]*board{
	// QEMU 7.2's emulation of cmpxchg16b can leave a piece of a register in EFLAGS, which
	// ends in a double fault; without the feature the kernel's allocator does not use it.
	"amd64": {
		kernels: []string{"6.1", "6.12"},
		qemu:    "qemu-system-x86_64", pkg: "qemu-system-x86",
		args:    []string{"-cpu", "max,-cx16"},
		console: "ttyS0", line: "-serial chardev:%s", lines: []string{"/dev/ttyS1", "/dev/ttyS2"},
		append: "no_timer_check", gcc: "gcc",
	},
	// The machine has one serial line; the others are on the PCI bus. Pointer authentication is emulated with its own algorithm, which is
	// many times slower.
	"arm64": {
		kernels: []string{"6.12"},
		qemu:    "qemu-system-aarch64", pkg: "qemu-system-arm",
		args:    []string{"-machine", "virt", "-cpu", "max,pauth-impdef=on"},
		console: "ttyAMA0", line: "-device pci-serial,chardev=%s", lines: []string{"/dev/ttyS0", "/dev/ttyS1"},
		gcc: "aarch64-linux-gnu-gcc",
	},
}

// boardOf is the machine with a processor.
func boardOf(arch string) *board {
	b := boards[arch]
	if b == nil {
		panic(fmt.Sprintf("there are no guests with processor %q (%s)", arch, archVar))
	}
	return b
}

// options are QEMU's, but for the size of the memory and the files.
func (b *board) options(commandLine string, cfg Config) []string {
	args := append([]string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-accel", "tcg,thread=single", "-smp", "1", "-append", commandLine,
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", "socket,id=results,fd=3",
	}, b.args...)
	args = append(args, strings.Fields(fmt.Sprintf(b.line, "results"))...)
	if cfg.Line != "" {
		args = append(args, "-chardev", "socket,id=line,server=on,wait=off,path="+cfg.Line)
		args = append(args, strings.Fields(fmt.Sprintf(b.line, "line"))...)
	}
	if cfg.Count {
		args = append(args, "-icount", "shift=0,align=off,sleep=off")
	}
	return args
}
