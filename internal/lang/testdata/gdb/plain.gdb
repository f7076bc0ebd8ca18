trace test_function
actions
collect counter1, counter2, $args
end
trace main
save tracepoints plain.tp
