# Runs a program under GDB and writes GDB's values at each stop. The job is a JSON file named by $JOB:
# {"prog", "args", "stops": {"0xADDR": {"exprs": [..], "conds": [..]}}, "hits"}: addresses with the
# expressions (as arguments of the command "output") and conditions to evaluate there, and the number of
# stops to examine at an address (0: all); "values": whether arguments and locals are included; "poison": a
# byte that is written below the red zone at each stop (null: none). One JSON object for each stop is
# written to "out". "fatal": [[ADDR, EXPR], ..], what GDB crashes on; what is evaluated last is in the file OUT.at.
# "entries": addresses of functions where the stack that they are about to use is overwritten. "physical": in
# inlined functions, values of variables are those of the frame around them. "real": values of other languages than C are written in C's notation.
import gdb, json, os, re

job = json.load(open(os.environ["JOB"]))
out = open(job["out"], "w")
# GDB must not call functions of the program. It would call malloc to give an array in registers an address,
# and the call fails on processors with AMX (GDB 13 writes less than the whole XSAVE area), which leaves its
# breakpoint on the stack.
for setting in ("auto-load python-scripts off", "may-call-functions off", "confirm off", "pagination off", "width 0", "height 0", "debuginfod enabled off", "breakpoint pending off",
                "startup-with-shell on", "breakpoint always-inserted on", "exec-wrapper env -i", "print elements 200", "print frame-info short-location"):
    gdb.execute("set " + setting)
gdb.execute("file " + job["prog"])


fatal = {(int(a, 16), x) for a, x in job.get("fatal") or []}
last = open(job["out"] + ".at", "w") if job.get("real") else None  # on programs that are not known GDB may crash


def output(what):
    """The text of GDB's answer, or its complaint."""
    at = int(gdb.selected_frame().pc())
    if (at, what) in fatal:
        return {"e": "fatal to GDB"}
    if last:
        last.seek(0)
        last.truncate()
        last.write("%#x%s" % (at, what))
        last.flush()
    try:
        return {"v": gdb.execute("output" + what, to_string=True)}
    except gdb.error as e:
        return {"e": str(e)}
    except UnicodeDecodeError as e:
        return {"e": "undecodable"}


def condition(text):
    try:
        return 1 if gdb.parse_and_eval(text) else 0
    except gdb.error as e:
        return str(e)


def is_label(s, block):
    """Whether GDB counts a label whose code is optimised out as a variable."""
    return s.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT and \
        gdb.lookup_symbol(s.name, block, gdb.SYMBOL_LABEL_DOMAIN)[0] == s


def names(frame, wanted):
    """The arguments or locals of the innermost (inlined) function, with values."""
    found, seen = [], set()
    try:
        block = frame.block()
    except RuntimeError:
        return []
    while block is not None and not block.is_static and not block.is_global:
        for s in block:
            if s.is_argument:
                if wanted == "args" and block.function is not None:
                    found.append([s.name, {"shadowed": True} if s.name in seen else output(" " + s.name)])
            elif (s.is_variable or s.is_constant) and s.name not in seen and not is_label(s, block):
                seen.add(s.name)
                if wanted == "locals":
                    found.append([s.name, output(" " + s.name)])
                    found[-1][1]["static"] = s.addr_class in (gdb.SYMBOL_LOC_STATIC, gdb.SYMBOL_LOC_LABEL)
        if block.function is not None:
            break
        block = block.superblock
    return found


def physical(frame):
    """Variables of an inlined function, by the frame of the function that it is inlined into: $physical_NAME."""
    outer = frame
    while outer.type() == gdb.INLINE_FRAME:
        outer = outer.older()
    found, block = set(), frame.block()
    while outer != frame and block is not None and not block.is_static and not block.is_global:
        for s in block:
            if (s.is_argument or s.is_variable) and s.name not in found:
                try:
                    gdb.set_convenience_variable("physical_" + s.name, s.value(outer))
                    found.add(s.name)
                except gdb.error:
                    pass
        if block.function is not None:
            break
        block = block.superblock
    return lambda text: re.sub(r"(?<![\w.>])(?:%s)\b" % "|".join(map(re.escape, found)), lambda m: "$physical_" + m[0], text) if found else text


# Set while the program runs: only then are relocated addresses right.
gdb.execute("starti " + " ".join(job["args"]) + " > /dev/null", to_string=True)
points, stops = {}, {}
for addr, what in job["stops"].items():
    addr = int(addr, 16)
    stops[addr] = what
    points[addr] = gdb.Breakpoint("*%#x" % addr)
    points[addr].silent = True
entries = {int(a, 16) for a in job.get("entries") or []}
for addr in entries:
    gdb.Breakpoint("*%#x" % addr).silent = True
left = {a: job["hits"] for a in stops}
inferior = gdb.selected_inferior()
while True:
    try:
        gdb.execute("continue", to_string=True)
    except gdb.error as e:
        if "No such process" not in str(e):  # GDB 13 when a program with threads ends
            raise
        break
    if inferior.pid == 0:
        break
    frame = gdb.newest_frame()
    pc = frame.pc()
    if pc in entries:
        sp = int(frame.read_register("rsp"))
        inferior.write_memory(sp - 16384, bytes([job["poison"]]) * 16384)
        if pc not in stops or points[pc].is_valid() is False:
            continue
    if pc not in stops:
        out.write(json.dumps({"pc": pc, "unexpected": True}) + "\n")
        break
    rec = {"pc": pc, "func": frame.name()}
    if stops[pc].get("exprs") is not None or job["values"]:
        frame.select()
        if job.get("real"):
            # GDB reads expressions and writes values in the language of the frame; jalon always in C's.
            gdb.execute("set language auto", to_string=True)
            language = gdb.execute("show language", to_string=True)
            if any(other in language for other in ("fortran", "rust", '"go"', "currently go", "asm")):
                gdb.execute("set language c", to_string=True)
        if job["values"]:
            rec["args"] = names(frame, "args")
            rec["locals"] = names(frame, "locals")
        spelled = physical(frame) if job.get("physical") else lambda text: text
        rec["exprs"] = [output(spelled(x)) for x in stops[pc].get("exprs", [])]
    if stops[pc].get("conds"):
        rec["conds"] = [condition(x) for x in stops[pc]["conds"]]
    if job["poison"] is not None:
        # Uninitialised stack contents of a function are not defined: jalon's own code saves registers below
        # the red zone.
        sp = int(frame.read_register("rsp"))
        inferior.write_memory(sp - 128 - 2048, bytes([job["poison"]]) * 2048)
    out.write(json.dumps(rec) + "\n")
    if job["hits"]:
        left[pc] -= 1
        if left[pc] == 0:
            points[pc].delete()
out.close()
