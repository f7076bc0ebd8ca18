package stub

import "strings"

// DisabledPackets are the names that Config.Disabled knows (--disable-packet) and what
// they mean.
var DisabledPackets = []struct{ Name, What string }{
	{"vCont", "All vCont packets"},
	{"qC", "Querying the current thread"},
	{"qfThreadInfo", "Thread listing"},
	{"Tthread", "Passing the thread specifier in the T stop reply packet"},
	{"T", "All 'T' packets"},
	{"threads", "All of vCont, qC, qfThreadInfo and Tthread"},
}

// disabled is the set of names, threads taken apart.
func disabled(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	if set["threads"] {
		for _, name := range []string{"vCont", "qC", "qfThreadInfo", "Tthread"} {
			set[name] = true
		}
	}
	return set
}

// isDisabled reports whether a packet must be answered as unknown.
func (x *core) isDisabled(payload []byte) bool {
	switch text := string(payload); {
	case strings.HasPrefix(text, "vCont"):
		return x.disabled["vCont"]
	case text == "qC":
		return x.disabled["qC"]
	case text == "qfThreadInfo" || text == "qsThreadInfo":
		return x.disabled["qfThreadInfo"]
	}
	return false
}
