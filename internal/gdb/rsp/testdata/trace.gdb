set sysroot
target remote ADDRESS
break main
continue
tvariable $v = 3
tvariable $seen
trace work
actions
collect i, j, $regs, total, where
collect $locals, $_ret
collect/s text
teval $v = $v + 1
collect $v, $trace_timestamp
while-stepping 3
collect total
end
end
condition $tpnum i > 1 && $v < 100
passcount 40
ftrace session.c:18 if j > 2 && total * j != 17
actions
collect i, j, total
end
trace mark
actions
collect $args, $regs
end
info tracepoints
info static-tracepoint-markers
set trace-buffer-size 1048576
set circular-trace-buffer off
set trace-user jalon
set trace-notes a note } of # two * words
tstart
tstatus
break puts
disable $tpnum
enable $tpnum
continue
tstatus
tstop enough } of it
tstatus
info tracepoints
tfind 0
tdump
tfind
tdump
print total
print where
print text
print $v
print $rip
info registers rip
tfind pc work
tfind tracepoint 2
tfind range work,+30
tfind outside work,+30
tfind line session.c:18
tfind -1
tfind none
info tvariables
tsave DIR/out.tf
tsave -ctf DIR/out.ctf
tsave -r DIR/remote.tf
set disconnected-tracing on
set circular-trace-buffer on
maint packet QTFrame:0
maint packet g
maint packet p6
maint packet qXfer:traceframe-info:read::0,1000
maint packet QTFrame:ffffffff
maint packet qTBuffer:0,40
maint packet qTBuffer:0,0
maint packet qTBuffer:ffffff,10
maint packet qTP:2:0
maint packet qTV:1
maint packet qTV:1234
maint packet qTfSTM
maint packet qTsSTM
maint packet qTSTMat:1000
maint packet QTDP:
maint packet qXfer:sdata:read::0,100
maint packet QAgent:1
delete
trace work
actions
collect i
end
tstart
tstatus
disconnect
target remote ADDRESS
tstatus
info tracepoints
tstop
tfind
tfind none
kill
