target remote ADDRESS
info sharedlibrary
break main
continue
print total
print where
x/16xb text
x/3i $pc
print $xmm0
print $rip
set var total = 5
set var where.y = 9
set remote X-packet off
set var where.y = 10
set remote X-packet auto
set var $rax = 1
stepi
next
step
break work if i == 2
dprintf mark,"marked %d\n", total
set dprintf-style agent
dprintf mark,"agent %d\n", total
set breakpoint condition-evaluation target
set disconnected-dprintf off
continue
info threads
info auxv
info proc
print $_siginfo.si_signo
print per_thread
find &text, +sizeof(text), '$'
find &text, +sizeof(text), (char)7
compare-sections .text
compare-sections .rodata
info os
print work(2, 3)
tbreak mark
continue
catch syscall write
handle SIGUSR1 nostop noprint pass
tbreak second
continue
info threads
thread apply all print per_thread
# Where debug registers have no effect, catch and _exit stop the program in place of these.
watch total
continue
rwatch where.x
awatch where.y
continue
delete
hbreak mark
tbreak _exit
continue
monitor help
monitor set debug 0
remote get /proc/self/comm DIR/comm
remote put DIR/comm DIR/comm2
remote delete DIR/comm2
remote delete DIR/comm3
maint packet qC
maint packet qOffsets
maint packet qfThreadInfo
maint packet qsThreadInfo
maint packet qThreadExtraInfo,p1.1
maint packet g
maint packet p10
maint packet P0=0100000000000000
maint packet m0,4
maint packet vMustReplyEmpty
maint packet qGetTIBAddr:1
maint packet QNonStop:2
maint packet QProgramSignals:e;f;
maint packet vFile:readlink:2f70726f632f73656c662f657865
maint packet vFile:stat:2f
maint packet x0,4
maint packet QThreadEvents:1
maint packet QThreadEvents:0
maint packet Hc-1
maint packet QAllow:WriteReg:1;WriteMem:1;InsertBreak:1;InsertTrace:1;InsertFastTrace:1;Stop:1
maint packet QSaveRegisterState
maint packet c0;q
maint packet q
maint packet X0,0
kill
