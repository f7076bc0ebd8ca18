# Run by GDB: the values of variables in the frames above the breakpoint, as lines "= HIT FRAME NAME VALUE". Frames that
# GDB makes up for tail calls are left out.
import gdb
import os

gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("break " + os.environ["PLACE"])
gdb.execute("run > /dev/null")
hit = 0
while gdb.selected_inferior().pid:
    frame, level = gdb.newest_frame(), 0
    while frame is not None and level < 3:
        frame = frame.older()
        while frame is not None and frame.type() == gdb.TAILCALL_FRAME:
            frame = frame.older()
        level += 1
        if frame is None:
            break
        frame.select()
        for name in os.environ["NAMES"].split(","):
            try:
                value = gdb.parse_and_eval(name)
                if not value.is_optimized_out:
                    print("=", hit, level, name, int(value))
            except gdb.error:
                pass
    gdb.execute("continue")
    hit += 1
