set sysroot
target extended-remote ADDRESS
set remote exec-file PROGRAM
catch fork
catch vfork
catch exec
catch signal SIGUSR1
catch syscall wait4
run children
detach
run children
kill
run children
continue
continue
info inferiors
continue
continue
continue
continue
continue
continue
info inferiors
attach SLEEPER
info threads
detach
monitor exit
