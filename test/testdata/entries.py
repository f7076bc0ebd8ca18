# Runs a program under GDB with a breakpoint on each of many functions and writes GDB's values at the first
# stop at each of their addresses. $JOB names a JSON file {"prog", "args", "names", "out"}; one JSON object
# for each stop is written to "out". If GDB's innermost frame is that of a function inlined at the
# breakpoint, the frame of the breakpoint's function is used.
import gdb, json, os

job = json.load(open(os.environ["JOB"]))
out = open(job["out"], "w")
for setting in ("confirm off", "pagination off", "width 0", "height 0", "debuginfod enabled off", "breakpoint pending off",
                "startup-with-shell on", "exec-wrapper env -i", "print elements 200", "breakpoint always-inserted on",
                "multiple-symbols all", "style enabled off"):
    gdb.execute("set " + setting)
gdb.execute("file " + job["prog"])
gdb.execute("disable pretty-printer", to_string=True)


def output(what):
    try:
        return {"v": gdb.execute("output " + what, to_string=True)}
    except gdb.error as e:
        return {"e": str(e)}
    except UnicodeDecodeError as e:
        return {"e": "undecodable"}


def names(frame, wanted):
    """The arguments or locals of the frame's function, with values."""
    found, seen = [], set()
    try:
        block = frame.block()
    except RuntimeError:
        return []
    while block is not None and not block.is_static and not block.is_global:
        for s in block:
            if s.is_argument:
                if wanted == "args" and block.function is not None:
                    found.append([s.name, {"shadowed": True} if s.name in seen else output(s.name)])
            elif (s.is_variable or s.is_constant) and s.name not in seen:
                seen.add(s.name)
                if wanted == "locals":
                    found.append([s.name, output(s.name)])
        if block.function is not None:
            break
        block = block.superblock
    return found


gdb.execute("starti " + " ".join(job["args"]) + " > /dev/null < /dev/null", to_string=True)
at = {}  # address: the function names and the locations' numbers
for name in job["names"]:
    try:
        b = gdb.Breakpoint(name)
    except gdb.error:
        continue
    b.silent = True
    for line in gdb.execute("info breakpoints %d" % b.number, to_string=True).splitlines():
        words = line.split()
        addr = [int(w, 16) for w in words if w.startswith("0x")]
        if addr and words[0].startswith("%d" % b.number):
            at.setdefault(addr[0], []).append((name, words[0]))
inferior = gdb.selected_inferior()
while True:
    gdb.execute("continue", to_string=True)
    if inferior.pid == 0:
        break
    newest = gdb.newest_frame()
    pc = newest.pc()
    for name, number in at.get(pc, []):
        frame = newest
        while frame.name() != name and frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
        frame.select()
        rec = {"place": name, "pc": pc, "func": frame.name(), "args": names(frame, "args"), "locals": names(frame, "locals")}
        out.write(json.dumps(rec) + "\n")
        gdb.execute("disable " + number)
    if pc not in at and gdb.solib_name(pc):  # a function of that name in a library
        continue
    if pc not in at:
        out.write(json.dumps({"pc": pc, "unexpected": True}) + "\n")
        break
out.close()
