set breakpoint pending on
target remote | gdbserver --once - ./prog
break main
continue
tvariable $x = 1
tvariable $y
tvariable $z = -5
trace prog.c:19
actions
collect $regs, $args, counter1, *q, r
collect/s q->path
collect/s40 q->path, r.path
teval $x = $x + 1
while-stepping 3
collect $locals
teval $y = 2
end
collect arr[0]@3
end
ftrace prog.c:18
actions
  collect   $reg, $_ret,   counter2@1
end
passcount 3
trace test_function if counter1 > 3 && g == 5
actions
stepping 2
collect counter1
end
end
disable 4
trace *main
trace main if i > 2
tp prog.c:test_function if g
trace 'prog.c':28 if (i)
trace -line 28
trace -function main -source prog.c
trace -source prog.c -line 28 if g
trace main -force-condition if nosuch
trace nosuch
condition 5 i == 7 && g == 5
ignore 5 3
passcount 7 6
set default-collect $regs, arr
save tracepoints all.tp
kill
