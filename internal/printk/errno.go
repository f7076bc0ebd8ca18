package printk

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelErrors are error numbers that are used only in the kernel (include/linux/errno.h).
var kernelErrors = map[int64]string{
	512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 515: "ENOIOCTLCMD",
	516: "ERESTART_RESTARTBLOCK", 517: "EPROBE_DEFER", 518: "EOPENSTALE", 519: "ENOPARAM",
	521: "EBADHANDLE", 522: "ENOTSYNC", 523: "EBADCOOKIE", 524: "ENOTSUPP", 525: "ETOOSMALL",
	526: "ESERVERFAULT", 527: "EBADTYPE", 528: "EJUKEBOX", 529: "EIOCBQUEUED", 530: "ERECALLCONFLICT",
}

// errorName returns the name of an error number, or "".
func errorName(n int64) string {
	if name := kernelErrors[n]; name != "" {
		return name
	}
	return unix.ErrnoName(syscall.Errno(n))
}
