set sysroot
set remote verbose-resume-packet off
set remote noack-packet off
set remote multiprocess-feature-packet off
set remote kill-packet off
set remote threads-packet off
target remote ADDRESS
break mark
continue
info threads
stepi
next
set var total = 3
handle SIGUSR1 nostop noprint pass
queue-signal SIGUSR1
stepi
continue
stepi
signal SIGUSR1
print total
maint packet QRestoreRegisterState:1
maint packet bc
maint packet bs
maint packet vFile:lstat:2f
maint packet T1
info threads
x/8xb text
kill
