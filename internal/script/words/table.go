package words

import "github.com/jalon-trace/jalon/internal/script/types"

// gives returns the Result of words that have always the same type.
func gives(t *types.Type) func(*Call) *types.Type { return func(*Call) *types.Type { return t } }

var (
	uint8T  = gives(types.Uint8)
	uint32T = gives(types.Uint32)
	uint64T = gives(types.Uint64)
	boolT   = gives(types.BoolT)
	name64  = gives(types.StringOf(64))
)

func one(k ArgKind) []Arg { return []Arg{{Kind: k}} }

var (
	registerProbes = []string{"kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "profile", "interval", "software", "hardware", "watchpoint"}
	argProbes      = []string{"kprobe", "uprobe", "usdt", "rawtracepoint"}
	tracing        = []string{"fentry", "fexit", "iter"}
	packets        = []string{"fentry", "fexit", "iter", "rawtracepoint"}
	signalProbes   = []string{"kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "tracepoint", "profile", "fentry", "fexit", "rawtracepoint"}
)

// Words is the table of builtins and functions, in alphabetical order.
var Words = []*Word{
	{Name: "args", Forms: []string{"args"}, Bare: true, Result: argsType, Providers: []string{"tracepoint", "rawtracepoint", "fentry", "fexit", "uprobe"}, Doc: "the arguments of the function or tracepoint, as a struct"},
	{Name: "argN", Forms: []string{"uint64 arg0", "uint64 arg1", "..."}, Bare: true, Result: func(c *Call) *types.Type { return types.Uint64.In(c.space()) }, Providers: argProbes, Doc: "an argument of the function, by the calling convention"},
	{Name: "assert", Forms: []string{"void assert(bool condition, string message)"}, Min: 2, Max: 2, Args: []Arg{{Kind: AnyArg}, {Kind: StrArg}}, Async: true, Doc: "ends the script with an error if the condition is false"},
	{Name: "assert_str", Forms: []string{"void assert_str(expression)"}, Min: 1, Max: 1, Constant: true, Result: assertStr, Doc: "reports an expression that is not a string, nor characters"},
	{Name: "bswap", Forms: []string{"uintN bswap(uintN n)"}, Min: 1, Max: 1, Args: one(IntArg), Result: func(c *Call) *types.Type { return types.IntOf(c.Types[0].Size, false) }, Doc: "n with its bytes in reverse order"},
	{Name: "buf", Forms: []string{"buffer buf(void *data [, int64 length])"}, Min: 1, Max: 2, Args: []Arg{{Kind: AnyArg}, {Kind: IntArg}}, Result: bufType, Doc: "bytes of memory; for arrays the length can be omitted"},
	{Name: "cat", Forms: []string{"void cat(const string format, ...)"}, Min: 1, Max: 128, Args: one(Format), Async: true, Doc: "prints the file whose name is formatted"},
	{Name: "cgroup", Forms: []string{"uint64 cgroup"}, Bare: true, Result: uint64T, Engines: KernelOnly, Doc: "the ID of the cgroup (v2) of the process"},
	{Name: "cgroup_path", Forms: []string{"cgroup_path_t cgroup_path(int cgroupid [, string filter])"}, Min: 1, Max: 2, Args: []Arg{{Kind: IntArg}, {Kind: StrArg}}, Result: gives(types.CgroupT), Async: true, Doc: "the path of a cgroup, looked up when it is printed"},
	{Name: "cgroupid", Forms: []string{"uint64 cgroupid(const string path)"}, Min: 1, Max: 1, Args: one(StrLit), Result: uint64T, Constant: true, Doc: "the ID of the cgroup at the path"},
	{Name: "clear", Forms: []string{"void clear(map m)"}, Min: 1, Max: 1, Args: one(MapArg), Async: true, Doc: "removes all elements of a map"},
	{Name: "comm", Forms: []string{"string comm", "string comm(uint32 pid)"}, Bare: true, Max: 1, Args: one(IntArg), Result: commType, Doc: "the name of the thread, or of another process"},
	{Name: "commit", Forms: []string{"void commit(uint64 id)"}, Min: 1, Max: 1, Args: one(IntArg), Async: true, Doc: "writes what probes have printed after speculate(id); not in bpftrace"},
	{Name: "config", Forms: []string{"record config"}, Bare: true, Result: func(c *Call) *types.Type { return c.Config.record() }, Constant: true, Doc: "the settings"},
	{Name: "container_of", Forms: []string{"T *container_of(M *member, type T, field)"}, Min: 3, Max: 3, Args: []Arg{{Kind: PtrArg}, {Kind: TypeArg}, {Kind: NameArg}}, Result: func(c *Call) *types.Type { return types.PointerTo(c.Types[1], c.Types[0].Space) }, Doc: "the struct that contains a member, from the member's address"},
	{Name: "cpid", Forms: []string{"uint32 cpid"}, Bare: true, Result: uint32T, Doc: "the process of -c; 0 without -c"},
	{Name: "cpu", Forms: []string{"uint64 cpu"}, Bare: true, Result: uint64T, Doc: "the number of the processor"},
	{Name: "ctx", Forms: []string{"void *ctx"}, Bare: true, Result: ctxType, Doc: "the context of the probe", Missing: "so far in iter, and its members only"},
	{Name: "curtask", Forms: []string{"struct task_struct *curtask"}, Bare: true, Result: uint64T, Engines: KernelOnly, Doc: "the kernel's task of the thread"},
	{Name: "debugf", Forms: []string{"void debugf(const string format, ...)"}, Min: 1, Max: 4, Args: one(Format), Engines: KernelOnly, Doc: "writes to the kernel's trace_pipe, with %d %u %x %p %s only", Missing: "not there yet; printf() prints to the output"},
	{Name: "default_str_length", Forms: []string{"uint64 default_str_length()"}, Bare: true, Result: uint64T, Constant: true, Doc: "the size of strings of which no size is given"},
	{Name: "delete", Forms: []string{"bool delete(map m, key)", "bool delete(map m)"}, Min: 1, Max: 2, Args: []Arg{{Kind: MapOrAny}, {Kind: KeyArg}}, Result: boolT, Doc: "removes an element; false if the map does not have it"},
	{Name: "disable", Forms: []string{"void disable(const string label)"}, Min: 1, Max: 1, Args: one(StrLit), Async: true, Doc: "hits of the probes label=PROBE do nothing from now on; not in bpftrace"},
	{Name: "discard", Forms: []string{"void discard(uint64 id)"}, Min: 1, Max: 1, Args: one(IntArg), Async: true, Doc: "drops what probes have printed after speculate(id); not in bpftrace"},
	{Name: "dw_ustack", Forms: []string{"ustack_t dw_ustack([mode,] [int limit])"}, Bare: true, Max: 2, Args: stackArgs, Result: stackType(types.UStack), Doc: "like ustack, by call frame information also where jalon would use frame pointers"},
	{Name: "elapsed", Forms: []string{"uint64 elapsed"}, Bare: true, Result: uint64T, Doc: "nanoseconds since the start of the script"},
	{Name: "enable", Forms: []string{"void enable(const string label)"}, Min: 1, Max: 1, Args: one(StrLit), Async: true, Doc: "ends disable(label); not in bpftrace"},
	{Name: "errorf", Forms: []string{"void errorf(const string format, ...)"}, Min: 1, Max: 128, Args: one(Format), Async: true, Doc: "prints an error with its position in the script"},
	{Name: "exit", Forms: []string{"void exit([int code])"}, Max: 1, Args: one(IntArg), Async: true, Doc: "ends the script; end probes run and maps are printed"},
	{Name: "fail", Forms: []string{"void fail(const string format, ...)"}, Min: 1, Max: 128, Args: one(Format), Constant: true, Doc: "an error before the script runs, unless the call cannot be reached"},
	{Name: "find", Forms: []string{"bool find(map m, key, $result)"}, Min: 3, Max: 3, Args: []Arg{{Kind: MapArg}, {Kind: KeyArg}, {Kind: VarArg}}, Result: boolT, Doc: "sets the variable to an element; false if the map does not have it"},
	{Name: "func", Forms: []string{"ksym_t func", "usym_t func"}, Bare: true, Result: funcType, Providers: []string{"kprobe", "kretprobe", "uprobe", "uretprobe", "fentry", "fexit"}, Doc: "the name of the traced function"},
	{Name: "getopt", Forms: []string{"bool getopt(const string name)", "T getopt(const string name, T default [, const string description])"}, Min: 1, Max: 3, Args: []Arg{{Kind: StrLit}, {Kind: AnyArg}, {Kind: AnyArg}}, Result: getoptType, Constant: true, Doc: "the value of --name=value after -- in the arguments"},
	{Name: "gid", Forms: []string{"uint64 gid"}, Bare: true, Result: uint64T, Doc: "the group of the thread"},
	{Name: "has_cpid", Forms: []string{"bool has_cpid"}, Bare: true, Result: boolT, Constant: true, Doc: "whether there is a process of -c"},
	{Name: "has_key", Forms: []string{"bool has_key(map m, key)"}, Min: 2, Max: 2, Args: []Arg{{Kind: MapArg}, {Kind: KeyArg}}, Result: boolT, Doc: "whether the map has an element"},
	{Name: "is_array", Forms: []string{"bool is_array(expression)"}, Min: 1, Max: 1, Result: boolT, Constant: true, Doc: "whether the expression is an array"},
	{Name: "is_err", Forms: []string{"bool is_err(void *ptr)"}, Min: 1, Max: 1, Args: one(IntPtrArg), Result: boolT, Doc: "whether the pointer is an error code of the kernel"},
	{Name: "is_integer", Forms: []string{"bool is_integer(expression)"}, Min: 1, Max: 1, Result: boolT, Constant: true, Doc: "whether the expression is an integer"},
	{Name: "is_literal", Forms: []string{"bool is_literal(expression)"}, Min: 1, Max: 1, Result: boolT, Constant: true, Doc: "whether the expression is a literal"},
	{Name: "is_ptr", Forms: []string{"bool is_ptr(expression)"}, Min: 1, Max: 1, Result: boolT, Constant: true, Doc: "whether the expression is a pointer"},
	{Name: "is_scalar", Forms: []string{"bool is_scalar(map m)"}, Min: 1, Max: 1, Args: one(MapArg), Result: boolT, Constant: true, Internal: true, Doc: "whether the map has no keys"},
	{Name: "is_str", Forms: []string{"bool is_str(expression)"}, Min: 1, Max: 1, Result: boolT, Constant: true, Doc: "whether the expression is a string"},
	{Name: "is_unsigned_integer", Forms: []string{"bool is_unsigned_integer(expression)"}, Min: 1, Max: 1, Result: boolT, Constant: true, Doc: "whether the expression is an unsigned integer"},
	{Name: "jiffies", Forms: []string{"uint64 jiffies"}, Bare: true, Result: uint64T, Engines: KernelOnly, Doc: "ticks of the kernel's timer"},
	{Name: "join", Forms: []string{"void join(char *arr[] [, const string separator])"}, Min: 1, Max: 2, Args: []Arg{{Kind: IntPtrArg}, {Kind: StrLit}}, Async: true, Doc: "prints the strings of an array of pointers that ends with NULL"},
	{Name: "kaddr", Forms: []string{"uint64 kaddr(const string name)"}, Min: 1, Max: 1, Args: one(StrLit), Result: gives(types.Uint64.In(types.Kernel)), Constant: true, Engines: KernelOnly, Doc: "the address of a symbol of the kernel"},
	{Name: "kfunc_allowed", Forms: []string{"bool kfunc_allowed(const string name)"}, Min: 1, Max: 1, Args: one(StrLit), Result: boolT, Constant: true, Doc: "whether programs of this kind of probe can call the function of the kernel", Missing: "not there yet: scripts call no functions of the kernel"},
	{Name: "kfunc_exist", Forms: []string{"bool kfunc_exist(const string name)"}, Min: 1, Max: 1, Args: one(StrLit), Result: boolT, Constant: true, Doc: "whether the kernel has the function for eBPF programs"},
	{Name: "kptr", Forms: []string{"T *kptr(T *ptr)"}, Min: 1, Max: 1, Args: one(IntPtrArg), Result: func(c *Call) *types.Type { return c.Types[0].In(types.Kernel) }, Doc: "the pointer as an address of the kernel"},
	{Name: "kstack", Forms: []string{"kstack_t kstack([mode,] [int limit])"}, Bare: true, Max: 2, Args: stackArgs, Result: stackType(types.KStack), Engines: KernelOnly, Doc: "the stack in the kernel"},
	{Name: "ksym", Forms: []string{"ksym_t ksym(uint64 addr)"}, Min: 1, Max: 1, Args: one(IntPtrArg), Result: gives(types.KSymT), Async: true, Doc: "the name of an address of the kernel"},
	{Name: "leader_comm", Forms: []string{"string leader_comm", "string leader_comm(struct task_struct *task)"}, Bare: true, Max: 1, Args: one(PtrArg), Result: gives(types.StringOf(16)), Engines: KernelOnly, Doc: "the name of the process's first thread"},
	{Name: "leader_tid", Forms: []string{"int32 leader_tid", "int32 leader_tid(struct task_struct *task)"}, Bare: true, Max: 1, Args: one(PtrArg), Result: gives(types.Int32), Engines: KernelOnly, Doc: "the number of the process's first thread"},
	{Name: "len", Forms: []string{"int64 len(map m)", "int64 len(stack)"}, Min: 1, Max: 1, Args: one(MapOrAny), Result: lenType, Doc: "the number of elements of a map, or of frames of a stack"},
	{Name: "macaddr", Forms: []string{"macaddr_t macaddr(char mac[6])"}, Min: 1, Max: 1, Result: macType, Doc: "a hardware address, from 6 bytes"},
	{Name: "memcmp", Forms: []string{"int32 memcmp(left, right, uint64 count)"}, Min: 3, Max: 3, Args: []Arg{{Kind: AnyArg}, {Kind: AnyArg}, {Kind: IntArg}}, Result: gives(types.Int32), Doc: "compares the first bytes of two values"},
	{Name: "ncpus", Forms: []string{"uint64 ncpus"}, Bare: true, Result: uint64T, Doc: "the number of processors"},
	{Name: "nsecs", Forms: []string{"uint64 nsecs", "uint64 nsecs(monotonic|boot|tai|sw_tai)"}, Bare: true, Max: 1, Args: []Arg{{Kind: NameArg, Names: []string{"monotonic", "boot", "tai", "sw_tai"}}}, Result: nsecsType, Doc: "nanoseconds of a clock; boot if none is named"},
	{Name: "ntop", Forms: []string{"inet ntop([int64 af,] int addr)", "inet ntop([int64 af,] char addr[4])", "inet ntop([int64 af,] char addr[16])"}, Min: 1, Max: 2, Result: ntopType, Doc: "an address of IPv4 or IPv6 as text"},
	{Name: "numaid", Forms: []string{"uint64 numaid"}, Bare: true, Result: uint64T, Doc: "the number of the NUMA node"},
	{Name: "override", Forms: []string{"void override(uint64 rc)"}, Min: 1, Max: 1, Args: one(IntArg), Providers: []string{"kprobe"}, Unsafe: true, Engines: KernelOnly, Doc: "the probed function does not run and returns rc", Missing: "not there yet"},
	{Name: "path", Forms: []string{"string path(struct path *path [, int32 size])"}, Min: 1, Max: 2, Args: []Arg{{Kind: AnyArg}, {Kind: IntLit}}, Result: pathType, Providers: tracing, Engines: KernelOnly, Doc: "the path of a struct path", Missing: "not there yet"},
	{Name: "pcomm", Forms: []string{"string pcomm", "string pcomm(struct task_struct *task)"}, Bare: true, Max: 1, Args: one(PtrArg), Result: gives(types.StringOf(16)), Engines: KernelOnly, Doc: "the name of the parent process"},
	{Name: "percpu_kaddr", Forms: []string{"uint64 percpu_kaddr(const string name [, int cpu])"}, Min: 1, Max: 2, Args: []Arg{{Kind: StrLit}, {Kind: IntArg}}, Result: gives(types.Uint64.In(types.Kernel)), Engines: KernelOnly, Doc: "the address of a variable of a CPU in the kernel", Missing: "so far in probes that run in jalon: begin, end, timers that read nothing"},
	{Name: "pid", Forms: []string{"uint32 pid", "uint32 pid(curr_ns|init)"}, Bare: true, Max: 1, Args: namespaces, Result: uint32T, Doc: "the process, in jalon's namespace or the first"},
	{Name: "ppid", Forms: []string{"int32 ppid", "int32 ppid(struct task_struct *task)"}, Bare: true, Max: 1, Args: one(PtrArg), Result: gives(types.Int32), Engines: KernelOnly, Doc: "the parent process"},
	{Name: "print", Forms: []string{"void print(value)", "void print(map m [, int top [, int div]])"}, Min: 1, Max: 3, Args: []Arg{{Kind: MapOrAny}, {Kind: IntLit}, {Kind: IntLit}}, Async: true, Doc: "prints a value, or a map: its largest elements, their values divided"},
	{Name: "printf", Forms: []string{"void printf(const string format, ...)"}, Min: 1, Max: 128, Args: one(Format), Async: true, Doc: "prints formatted values"},
	{Name: "probe", Forms: []string{"string probe"}, Bare: true, Result: placeText, Doc: "the attach point, without wildcards"},
	{Name: "probetype", Forms: []string{"string probetype"}, Bare: true, Result: placeText, Constant: true, Doc: "the kind of the attach point"},
	{Name: "pton", Forms: []string{"uint8[4] pton(const string address)", "uint8[16] pton(const string address)"}, Min: 1, Max: 1, Args: one(StrLit), Result: ptonType, Constant: true, Doc: "an address of IPv4 or IPv6 from text"},
	{Name: "rand", Forms: []string{"uint32 rand"}, Bare: true, Result: uint32T, Doc: "a random number"},
	{Name: "reg", Forms: []string{"uint64 reg(const string name)"}, Min: 1, Max: 1, Args: one(StrLit), Result: regType, Providers: registerProbes, Doc: "a register of the processor"},
	{Name: "retval", Forms: []string{"uint64 retval", "T retval"}, Bare: true, Result: func(c *Call) *types.Type { return types.Uint64.In(c.space()) }, Providers: []string{"kretprobe", "uretprobe", "fentry", "fexit"}, Doc: "what the function returns; at fexit with its type, at uretprobe too if it is a float or double"},
	{Name: "signal", Forms: []string{"void signal(const string name)", "void signal(uint32 number)"}, Min: 1, Max: 1, Result: signalType, Providers: signalProbes, Unsafe: true, Engines: KernelOnly, Doc: "sends a signal to the process"},
	{Name: "signal_name", Forms: []string{"string signal_name(int signal)"}, Min: 1, Max: 1, Args: one(IntArg), Result: name64, Doc: "the name of a signal"},
	{Name: "signal_thread", Forms: []string{"void signal_thread(const string name)", "void signal_thread(uint32 number)"}, Min: 1, Max: 1, Result: signalType, Providers: signalProbes, Unsafe: true, Engines: KernelOnly, Doc: "sends a signal to the thread"},
	{Name: "skboutput", Forms: []string{"uint32 skboutput(const string path, struct sk_buff *skb, uint64 length, uint64 offset)"}, Min: 4, Max: 4, Args: []Arg{{Kind: StrLit}, {Kind: PtrArg}, {Kind: IntArg}, {Kind: IntArg}}, Result: uint32T, Providers: packets, Engines: KernelOnly, Doc: "writes a packet to a pcap file", Missing: "not there yet"},
	{Name: "socket_cookie", Forms: []string{"uint64 socket_cookie(struct sock *sk)"}, Min: 1, Max: 1, Args: one(PtrArg), Result: cookieType, Providers: packets, Engines: KernelOnly, Doc: "the kernel's number of a socket", Missing: "not there yet"},
	{Name: "speculate", Forms: []string{"void speculate(uint64 id)"}, Min: 1, Max: 1, Args: one(IntArg), Async: true, Doc: "what the probe prints from here on is kept until commit(id) or discard(id); not in bpftrace"},
	{Name: "static_assert", Forms: []string{"void static_assert(bool condition, const string message)"}, Min: 2, Max: 2, Args: []Arg{{Kind: AnyArg}, {Kind: StrLit}}, Constant: true, Doc: "an error before the script runs if the condition is false"},
	{Name: "str", Forms: []string{"string str(char *data [, uint32 length])"}, Min: 1, Max: 2, Args: []Arg{{Kind: AnyArg}, {Kind: IntArg}}, Result: strType, Doc: "the string at an address"},
	{Name: "str_concat", Forms: []string{"string str_concat(string a, string b)"}, Min: 2, Max: 2, Args: []Arg{{Kind: StrArg}, {Kind: StrArg}}, Result: gives(types.StringOf(1024)), Doc: "two strings as one"},
	{Name: "strcap", Forms: []string{"int64 strcap(string s)"}, Min: 1, Max: 1, Result: charsInt(types.Int64), Doc: "the size of a string's variable or array"},
	{Name: "strcontains", Forms: []string{"bool strcontains(string haystack, string needle)"}, Min: 2, Max: 2, Result: charsBool, Doc: "whether a string contains another"},
	{Name: "strerror", Forms: []string{"string strerror(int error)"}, Min: 1, Max: 1, Args: one(IntArg), Result: name64, Doc: "the text of an error code"},
	{Name: "strftime", Forms: []string{"timestamp strftime(const string format, uint64 nsecs)"}, Min: 2, Max: 2, Args: []Arg{{Kind: StrLit}, {Kind: IntArg}}, Result: strftimeType, Async: true, Doc: "a time of nsecs as text; %f is the microsecond"},
	{Name: "strlen", Forms: []string{"uint64 strlen(string s)"}, Min: 1, Max: 1, Result: charsInt(types.Uint64), Doc: "the length of a string"},
	{Name: "strncmp", Forms: []string{"uint64 strncmp(string a, string b, const uint64 n)"}, Min: 3, Max: 3, Args: []Arg{{Kind: StrArg}, {Kind: StrArg}, {Kind: IntLit}}, Result: uint64T, Doc: "compares the first n characters; 0 if they are the same"},
	{Name: "strstr", Forms: []string{"int64 strstr(string haystack, string needle)"}, Min: 2, Max: 2, Result: charsInt(types.Int64), Doc: "the index of a string in another, or -1"},
	{Name: "syscall_name", Forms: []string{"string syscall_name(int number)"}, Min: 1, Max: 1, Args: one(IntArg), Result: name64, Doc: "the name of a system call"},
	{Name: "system", Forms: []string{"void system(const string format, ...)"}, Min: 1, Max: 128, Args: one(Format), Unsafe: true, Async: true, Doc: "runs a command of the shell"},
	{Name: "tid", Forms: []string{"uint32 tid", "uint32 tid(curr_ns|init)"}, Bare: true, Max: 1, Args: namespaces, Result: uint32T, Doc: "the thread, in jalon's namespace or the first"},
	{Name: "time", Forms: []string{"void time([const string format])"}, Max: 1, Args: one(StrLit), Async: true, Doc: "prints the time of day, by strftime's format"},
	{Name: "uaddr", Forms: []string{"T *uaddr(const string symbol)"}, Min: 1, Max: 1, Args: one(StrLit), Result: uaddrType, Providers: []string{"uprobe", "uretprobe", "usdt"}, Doc: "the address of a symbol of the program"},
	{Name: "uid", Forms: []string{"uint64 uid"}, Bare: true, Result: uint64T, Doc: "the user of the thread"},
	{Name: "unwatch", Forms: []string{"void unwatch(void *addr)"}, Min: 1, Max: 1, Args: one(IntArg), Async: true, Doc: "removes a watchpoint", Missing: "not there yet, as watchpoints"},
	{Name: "uptr", Forms: []string{"T *uptr(T *ptr)"}, Min: 1, Max: 1, Args: one(IntPtrArg), Result: func(c *Call) *types.Type { return c.Types[0].In(types.User) }, Doc: "the pointer as an address of the process"},
	{Name: "usermode", Forms: []string{"uint8 usermode"}, Bare: true, Result: uint8T, Doc: "1 if the processor ran the program, 0 in the kernel"},
	{Name: "username", Forms: []string{"username_t username"}, Bare: true, Result: gives(types.UserT), Async: true, Doc: "the name of the user of the thread"},
	{Name: "ustack", Forms: []string{"ustack_t ustack([mode,] [int limit])"}, Bare: true, Max: 2, Args: stackArgs, Result: stackType(types.UStack), Doc: "the stack of the program, without need of frame pointers"},
	{Name: "usym", Forms: []string{"usym_t usym(uint64 addr)"}, Min: 1, Max: 1, Args: one(IntPtrArg), Result: gives(types.USymT), Async: true, Doc: "the name of an address of the process"},
	{Name: "warnf", Forms: []string{"void warnf(const string format, ...)"}, Min: 1, Max: 128, Args: one(Format), Async: true, Doc: "prints a warning with its position in the script"},
	{Name: "write_user", Forms: []string{"bool write_user(T *dst, T *src, uint32 len)"}, Min: 3, Max: 3, Args: []Arg{{Kind: IntPtrArg}, {Kind: AnyArg}, {Kind: IntArg}}, Result: boolT, Unsafe: true, Engines: KernelOnly, Doc: "writes to the memory of the process", Missing: "not there yet: jalon does not change the traced program"},
	{Name: "zero", Forms: []string{"void zero(map m)"}, Min: 1, Max: 1, Args: one(MapArg), Async: true, Doc: "sets all values of a map to 0"},
}

// MapFuncs is the table of functions that update a map: @m[key] = count(). Args are those that are written.
var MapFuncs = []*Word{
	{Name: "avg", Forms: []string{"avg_t avg(number n)"}, Min: 1, Max: 1, Args: one(IntArg), Result: aggregate(types.Avg), Doc: "the average"},
	{Name: "count", Forms: []string{"count_t count()"}, Result: gives(types.CountT), Doc: "the number of calls"},
	{Name: "hist", Forms: []string{"hist_t hist(number n [, const int k])"}, Min: 1, Max: 2, Args: []Arg{{Kind: IntArg}, {Kind: IntLit}}, Result: histType, Doc: "a histogram of powers of two, each in 2^k parts (k from 0 to 5)"},
	{Name: "lhist", Forms: []string{"lhist_t lhist(number n, const int min, const int max, const int step)"}, Min: 4, Max: 4, Args: []Arg{{Kind: IntArg}, {Kind: IntLit}, {Kind: IntLit}, {Kind: IntLit}}, Result: lhistType, Doc: "a linear histogram"},
	{Name: "max", Forms: []string{"max_t max(number n)"}, Min: 1, Max: 1, Args: one(IntArg), Result: aggregate(types.Max), Doc: "the largest value"},
	{Name: "min", Forms: []string{"min_t min(number n)"}, Min: 1, Max: 1, Args: one(IntArg), Result: aggregate(types.Min), Doc: "the smallest value"},
	{Name: "stats", Forms: []string{"stats_t stats(number n)"}, Min: 1, Max: 1, Args: one(IntArg), Result: aggregate(types.Stats), Doc: "count, average and total"},
	{Name: "sum", Forms: []string{"sum_t sum(number n)"}, Min: 1, Max: 1, Args: one(IntArg), Result: aggregate(types.Sum), Doc: "the total"},
	{Name: "tseries", Forms: []string{"tseries_t tseries(number n, const uint64 interval, const uint64 intervals [, const string aggregation])"}, Min: 3, Max: 4, Args: []Arg{{Kind: IntArg}, {Kind: IntLit}, {Kind: IntLit}, {Kind: StrLit}}, Result: tseriesType, Doc: "a value for each interval of time: the last, or avg, max, min or sum"},
}
