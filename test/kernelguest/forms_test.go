package kernelguest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// forms are expressions with their values at a hit of vfs_read with count 5000 on
// the file known.bin of 20,000 bytes: each kind of operand and operator.
var forms = []form{
	{"count + 1", 5001},
	{"count - 5001 == -1", 1},
	{"count * 3", 15000},
	{"count / 7", 714},
	{"count % 7", 2},
	{"-(long)count / 7", -714},
	{"-(long)count % 7", -2},
	{"(int)count / -3", -1666},
	{"(unsigned)-(int)count / 3", 1431654098},
	{"count << 3", 40000},
	{"count >> 3", 625},
	{"-(long)count >> 3", -625},
	{"count << (count & 7)", 5000},
	{"1ul << 63 >> (count - 4937)", 1},
	{"count & 0xff", 136},
	{"count | 7", 5007},
	{"count ^ 0x1388", 0},
	{"~(int)count", -5001},
	{"!count", 0},
	{"-(int)count", -5000},
	{"count > 4999 && count < 5001", 1},
	{"count == 1 || count == 5000", 1},
	{"count > 1 ? 11 : 22", 11},
	{"(long)count > -1", 1},
	{"count > -1", 0},
	{"(signed char)count", -120}, // the char of kernels has no sign since 6.2
	{"(unsigned char)count", 136},
	{"(short)(count * 100)", -24288},
	{"(_Bool)count", 1},
	{"sizeof(struct file) > 100", 1},
	{"sizeof(count)", 8},
	{"file->f_inode->i_size", 20000},
	{"(*file).f_inode->i_size", 20000},
	{"file->f_inode->i_mode & 0170000", 0o100000},
	{"file->f_inode->i_sb->s_magic", 0x01021994},
	{"(long)&file->f_inode - (long)file > 0", 1},
	{"file->f_path.dentry->d_name.len", 9},
	{"file->f_path.dentry->d_name.name[0]", 'k'},
	{"*(file->f_path.dentry->d_name.name + 4)", 'n'},
	{`file->f_path.dentry->d_name.name == "known.bin"`, 1},
	{`file->f_path.dentry->d_name.name != "known.bin"`, 0},
	{`$task->comm == "calls"`, 1},
	{`$task->real_parent->comm == "jalon"`, 1},
	{"$task->tgid == $pid && $tid == $pid", 1},
	{"$task->flags & 0x200000", 0},
	{"buf[0]", 'x'},
	{"*(int *)buf", 0x78787878},
	{"((unsigned short *)buf)[2]", 0x7878},
	{`str(buf, 3) == "xxx"`, 1},
	{"*pos", 0},
	{"pos != 0", 1},
	{"&buf[count] - buf", 5000},
	{"arg2", 5000},
	{"$uid", 0},
	{"$gid", 0},
	{"$cpu", 0},
	{"$cgroup > 0", 1},
	{"nsecs > 0", 1},
	{"*(unsigned char *)kaddr(\"vfs_read\") != 0xcc", 1},
	{"$task->mm->mm_users.counter", 1},
	{"$task->sched_class != 0", 1},
	{"$task->in_execve", 0},
	{"this_cpu(runqueues).cpu", 0},
	{"per_cpu(runqueues, 0).cpu", 0},
	{"this_cpu(runqueues).curr == $task", 1},
	{"per_cpu(runqueues, $cpu).curr->tgid == $pid", 1},
}

// Every form of expression means the same in the kernel as in C, also operations that the kernel's
// instruction set lacks (signed division, sign-extending loads).
func TestGuest_Forms(t *testing.T) {
	const at = "kprobe:vfs_read if (count == 5000"
	var list, places []string
	forms := slices.Concat(forms, processor.forms)
	for _, f := range forms {
		list = append(list, f.expr)
		places = append(places, fmt.Sprintf("(%s) == %d", f.expr, f.want))
	}
	args := []string{"-c", strings.Join(list, ", "), at + ")"}
	// The same in conditions, some together.
	bunches := slices.Collect(slices.Chunk(places, 9))
	for _, b := range bunches {
		args = append(args, at+" && "+strings.Join(b, " && ")+")")
	}
	o := trace(t, append(args, "--", calls, "reads")...)
	if want := 1 + len(bunches); len(o.hits) != want {
		t.Errorf("%d events, not %d: a condition is not true; totals %+v", len(o.hits), want, o.totals)
	}
	for i := range o.hits {
		for _, f := range forms {
			if got := value(&o.hits[i], f.expr); got != fmt.Sprint(f.want) {
				t.Errorf("%s is %s, not %d", f.expr, got, f.want)
			}
		}
	}
}

// value is a value as text: a character as its number.
func value(h *hit, name string) string {
	switch v := h.Values[name].(type) {
	case string:
		if len(v) == 1 {
			return fmt.Sprint(v[0])
		}
		return v
	case bool:
		if v {
			return "1"
		}
		return "0"
	case nil:
		return "<" + h.Errors[name] + ">"
	default:
		return fmt.Sprint(v)
	}
}

// wild are reads that cannot be done: their addresses are unreadable for the kernel.
var wild = []string{
	"*(char *)0", "*(long *)8", "*(long *)0x7ffffffff000", "*(long *)0x800000000000", "*(long *)0xdead000000000100", "*(int *)-1", "*(long *)-4",
	"*(long *)0xffff7fffffffffff", "((struct file *)0)->f_inode->i_size", "file->f_path.dentry[1000000000].d_name.len",
	"((struct task_struct *)0x123)->comm[3]", "*(long *)(kaddr(\"vfs_read\") - 0x4000000000)", "per_cpu(runqueues, 123456789).cpu", "per_cpu(runqueues, -5).cpu",
}

// Values of wild pointers are unavailable: in a condition this counts as a fault, in the collect list the
// other values are available.
func TestGuest_WildPointers(t *testing.T) {
	wild := slices.Concat(wild, processor.wild)
	args := []string{"kprobe:vfs_read if (count == 5000)", "-c", "count, " + strings.Join(wild, ", ") + `, str((char *)0), str((char *)0xdead000000000000, 5), *(char *)count@3, file->f_mode`}
	for _, w := range wild {
		args = append(args, fmt.Sprintf("kprobe:vfs_read if (count == 5000 && %s == 5)", w))
	}
	o := trace(t, append(args, "--", calls, "reads")...)
	if len(o.hits) != 1 {
		t.Fatalf("%d events; totals %+v", len(o.hits), o.totals)
	}
	h := o.hits[0]
	if h.Num(t, "count") != 5000 || h.Num(t, "file->f_mode") == 0 {
		t.Errorf("%+v", h)
	}
	for _, w := range append(slices.Clone(wild), "str((char *)0)", "str((char *)0xdead000000000000, 5)", "*(char *)count@3") {
		if _, ok := h.Values[w]; ok && h.Values[w] != nil || !strings.Contains(h.Errors[w], "unreadable") {
			t.Errorf("%s is %v (%q)", w, h.Values[w], h.Errors[w])
		}
	}
	if w := uint64(len(wild)); o.totals.Faults != w || o.totals.False != uint64(len(sizes)-1)*(w+1) {
		t.Errorf("totals %+v, %d wild pointers", o.totals, w)
	}
}
