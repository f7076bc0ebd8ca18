package procdir

import "golang.org/x/sys/unix"

// HasCapability reports whether the calling thread has a capability (unix.CAP_SYS_ADMIN, ...) in its effective set;
// see capabilities(7). Without an answer of the kernel it has none.
func HasCapability(number uint) bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&head, &data[0]) == nil && data[number/32].Effective&(1<<(number%32)) != 0
}
