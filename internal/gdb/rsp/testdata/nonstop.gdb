set sysroot
set non-stop on
target extended-remote ADDRESS
set remote exec-file PROGRAM
break second
break mark
set environment JALON_TEST=a b
unset environment JALON_GONE
set cwd DIR
set startup-with-shell off
set disable-randomization on
run
info threads
stepi
next
continue
info threads
interrupt
delete
maint packet vCtrlC
disconnect
