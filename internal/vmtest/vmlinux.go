package vmtest

import (
	"os"
	"testing"
)

// Vmlinux returns the paths of a kernel with its DWARF and of the bootable image of
// the same build, which is a Kernel of Config. `make test-vmlinux` downloads the two
// and sets the variables; without them the test is skipped.
func Vmlinux(t *testing.T) (vmlinux, kernel string) {
	t.Helper()
	vmlinux, kernel = os.Getenv("JALON_VMLINUX"), os.Getenv("JALON_VMLINUX_KERNEL")
	if vmlinux == "" || kernel == "" {
		t.Skip("JALON_VMLINUX and JALON_VMLINUX_KERNEL are not set: make test-vmlinux does it")
	}
	return vmlinux, kernel
}
