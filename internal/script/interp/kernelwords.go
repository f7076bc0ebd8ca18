package interp

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// inKernel are the words that need the kernel, in probes that run in jalon itself.
var inKernel map[string]func(*library, script.Expr, []script.Expr) val

func init() {
	inKernel = map[string]func(*library, script.Expr, []script.Expr) val{
		"curtask": func(m *library, at script.Expr, _ []script.Expr) val { return num(taskOf(m, at, nil)) },
		"kaddr":   kaddr, "percpu_kaddr": perCPU,
		"jiffies":     jiffies,
		"cgroup":      ofTask(types.Uint64, "task_struct.cgroups", "css_set.dfl_cgrp", "cgroup.kn", "kernfs_node.id"),
		"ppid":        ofTask(types.Int32, "task_struct.real_parent", "task_struct.tgid"),
		"leader_tid":  ofTask(types.Int32, "task_struct.group_leader", "task_struct.pid"),
		"pcomm":       ofTask(types.StringOf(16), "task_struct.real_parent", "task_struct.group_leader", "task_struct.comm"),
		"leader_comm": ofTask(types.StringOf(16), "task_struct.group_leader", "task_struct.comm"),
		"debugf":      debugf,
	}
}

// fail ends the script by an error of the environment.
func fail(m *library, at script.Node, err error) {
	if err != nil {
		abandon(at.File().At(at.Span(), err.Error(), ""))
	}
}

// taskOf is the task that the argument names, or that of this thread.
func taskOf(m *library, at script.Node, args []script.Expr) uint64 {
	if len(args) > 0 {
		return m.expr(args[0]).n
	}
	task, err := m.opts.Kernel.Task()
	fail(m, at, err)
	return task
}

// ofTask reads a member that pointers lead to from a task. Each step is STRUCT.MEMBER.
func ofTask(t *types.Type, path ...string) func(*library, script.Expr, []script.Expr) val {
	return func(m *library, at script.Expr, args []script.Expr) val {
		addr := taskOf(m, at, args)
		for i, step := range path {
			tag, member, _ := strings.Cut(step, ".")
			off, err := m.opts.Kernel.Offset(tag, member)
			fail(m, at, err)
			addr += uint64(off)
			if i == len(path)-1 {
				break
			}
			if addr = m.load(at, addr, types.Uint64).n; addr == 0 {
				return blank(t)
			}
		}
		return m.load(at, addr, t)
	}
}

func kaddr(m *library, at script.Expr, args []script.Expr) val {
	addr, err := m.opts.Kernel.Symbol(m.expr(args[0]).s)
	fail(m, at, err)
	return num(addr)
}

func perCPU(m *library, at script.Expr, args []script.Expr) val {
	n := cpu()
	if len(args) > 1 {
		n = m.expr(args[1]).n
	}
	addr, err := m.opts.Kernel.PerCPU(m.expr(args[0]).s, n)
	fail(m, at, err)
	return num(addr)
}

func jiffies(m *library, at script.Expr, _ []script.Expr) val {
	n, err := m.opts.Kernel.Jiffies()
	fail(m, at, err)
	return num(n)
}

func debugf(m *library, at script.Expr, args []script.Expr) val {
	fail(m, at, m.opts.Kernel.Print(m.formatted(args)))
	return val{}
}

// numaid is the node of the processor that this thread is on.
func numaid(_ *library, _ script.Expr, _ []script.Expr) val {
	found, err := filepath.Glob(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/node[0-9]*", cpu()))
	if err != nil || len(found) == 0 {
		return num(0) // the kernel knows one node only
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(found[0]), "node"), 10, 32)
	if err != nil {
		return num(0)
	}
	return num(n)
}

// threadNumber is pid or tid: in jalon's namespace, or in the first one.
func threadNumber(own func() int, member string) func(*library, script.Expr, []script.Expr) val {
	first := ofTask(types.Int32, "task_struct."+member)
	return func(m *library, at script.Expr, args []script.Expr) val {
		if len(args) > 0 && m.opts.Kernel != nil {
			if id, ok := args[0].(*script.Ident); ok && id.Name == "init" {
				return first(m, at, nil)
			}
		}
		return num(uint64(own()))
	}
}
