# Run by gdb: asks about the expressions in the file $AX_IN, one a line, at the
# stop in work(), and writes what it says to $AX_OUT as JSON.
import gdb, json, os

def run(cmd):
    return gdb.execute(cmd, to_string=True)

def attempt(cmd):
    try:
        return {"text": run(cmd)}
    except gdb.error as e:
        return {"error": str(e)}

for cmd in ["set pagination off", "set confirm off", "set width 0", "set height 0", "set debuginfod enabled off"]:
    run(cmd)
if os.environ.get("AX_REMOTE"):
    run("set remotelogfile " + os.environ["AX_REMOTE"])
    run("target remote | gdbserver --once - " + os.environ["AX_PROGRAM"])
    run("break " + os.environ["AX_LINE"])
    run("continue")
else:
    run("break " + os.environ["AX_LINE"])
    run("run")

names = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"] + ["r%d" % i for i in range(8, 16)] + ["rip", "eflags"]
frame = gdb.selected_frame()
out = {"registers": [str(int(frame.read_register(n)) & (1 << 64) - 1) for n in names], "memory": [], "answers": []}
pid = gdb.selected_inferior().pid
for line in open("/proc/%d/maps" % pid):
    f = line.split()
    if "r" in f[1] and len(f) > 5 and (f[5] == os.environ["AX_PROGRAM"] or f[5] == "[stack]"):
        lo, hi = [int(x, 16) for x in f[0].split("-")]
        out["memory"].append({"addr": str(lo), "data": gdb.selected_inferior().read_memory(lo, hi - lo).tobytes().hex()})

for e in open(os.environ["AX_IN"]).read().splitlines():
    if e.startswith('"'):
        out["answers"].append({"expr": e, "eval": attempt("maint agent-printf " + e), "printed": attempt("printf " + e)})
        continue
    a = {"expr": e, "eval": attempt("maint agent-eval " + e), "collect": attempt("maint agent " + e)}
    try:
        v = gdb.parse_and_eval(e)
        a["size"] = v.type.sizeof
        if v.address is not None:
            a["address"] = str(int(v.address))
        a["value"] = str(int(v) & (1 << 64) - 1)
    except (gdb.error, OverflowError, ValueError) as x:
        a["failed"] = str(x)
    out["answers"].append(a)

if os.environ.get("AX_REMOTE"):
    for e in open(os.environ["AX_TRACE"]).read().splitlines():
        cond, collect = e.split("\t")
        try:
            run("trace *$pc if " + cond)
        except gdb.error as x:
            raise SystemExit("%s: %s" % (cond, x))
        n = gdb.parse_and_eval("$tpnum")
        open(os.environ["AX_OUT"] + ".cmds", "w").write("actions %d\ncollect %s\nend\n" % (n, collect))
        run("source " + os.environ["AX_OUT"] + ".cmds")
    out["tstart"] = attempt("tstart").get("error", "")
    run("set remotelogfile /dev/null")
json.dump(out, open(os.environ["AX_OUT"], "w"))
run("kill")
