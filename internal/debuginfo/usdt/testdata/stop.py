# Run by GDB: stops at every place of $PLACES (JSON), and writes there one line of
# JSON with GDB's own probe arguments, the program's expectations and the values
# of the given expressions.
import gdb, json, os

places = json.load(open(os.environ["PLACES"]))
out = open(os.environ["OUT"], "w")
gdb.execute("set pagination off")
gdb.execute("set debuginfod enabled off")
gdb.execute("set print address off")
gdb.execute("starti", to_string=True)
bias = int(gdb.parse_and_eval("(long)&main")) - int(os.environ["MAIN"])
gdb.execute("set $bias = (unsigned long)%d" % (bias & 0xFFFFFFFFFFFFFFFF))
at = {}
for p in places:
    at[p["PC"]] = p
    gdb.execute("break *%d" % (p["PC"] + bias), to_string=True)


def value(expr):
    try:
        v = gdb.parse_and_eval(expr)
        if v.type.strip_typedefs().code == gdb.TYPE_CODE_FLT:
            return float(v).hex()
        return str(int(v))
    except (gdb.error, gdb.MemoryError, RuntimeError) as e:
        return "error: " + str(e)


while True:
    gdb.execute("continue", to_string=True)
    if not gdb.selected_thread():
        break
    pc = int(gdb.parse_and_eval("(long)$pc")) - bias
    p = at[pc]
    n = len(p["Exprs"])
    line = {
        "PC": pc,
        "Argc": value("$_probe_argc"),
        "Own": [value("$_probe_arg%d" % i) for i in range(n)],
        "Ours": [value(e) if e else "" for e in p["Exprs"]],
    }
    if p["Expect"]:
        line["Expect"] = [value("((long *)&expect)[%d]" % i) for i in range(n)]
        line["Float"] = [value("((double *)&expect_float)[%d]" % i) for i in range(n)]
    out.write(json.dumps(line) + "\n")
out.close()
