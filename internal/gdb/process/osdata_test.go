package process

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// osItems reads an osdata document.
func osItems(t *testing.T, doc []byte) (kind string, items []map[string]string) {
	t.Helper()
	var d struct {
		Kind  string `xml:"type,attr"`
		Items []struct {
			Columns []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:",chardata"`
			} `xml:"column"`
		} `xml:"item"`
	}
	if err := xml.Unmarshal(doc, &d); err != nil {
		t.Fatalf("%v: %q", err, doc)
	}
	for _, item := range d.Items {
		m := map[string]string{}
		for _, c := range item.Columns {
			m[c.Name] = strings.TrimSpace(c.Value)
		}
		items = append(items, m)
	}
	return d.Kind, items
}

// craftedProc is a system of two processes.
func craftedProc(t *testing.T) *procfs {
	t.Helper()
	root := t.TempDir()
	stat := func(pid, name string, group, core int) string {
		return fmt.Sprintf("%s (%s) S 1 %d%s %d 0", pid, name, group, strings.Repeat(" 0", 33), core)
	}
	for name, text := range map[string]string{
		"7/comm":             "a) <b\n",
		"7/cmdline":          "/bin/a\x00-x\x00",
		"7/stat":             stat("7", "a) <b", 7, 3),
		"7/task/7/stat":      stat("7", "a) <b", 7, 3),
		"7/task/12/stat":     stat("12", "other", 7, 1),
		"7/fd/0":             "",
		"5/comm":             "kernel\n",
		"5/cmdline":          "",
		"5/stat":             stat("5", "kernel", 7, 0),
		"5/task/5/stat":      stat("5", "kernel", 7, 0),
		"cpuinfo":            "processor\t: 0\nmodel name\t: X: Y\n\nprocessor\t: 1\n",
		"modules":            "nf 4096 1 a,b, Live 0xffffffffc0000000 (O)\nshort\n",
		"sysvipc/msg":        "key\n",
		"sysvipc/sem":        "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n  77  2  600  3 4000000000 4000000000 0 0 0 86400\n",
		"sysvipc/shm":        "",
		"net/tcp":            "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  4000000000 0 1\n",
		"net/tcp6":           "   0: 0000000000000000FFFF00000100007F:0016 00000000000000000000000001000000:0001 FF 0:0 0:0 0 4000000000 0 1\n",
		"net/udp":            "",
		"net/udp6":           "bad line\n",
		"not-a-process/comm": "x",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	return &procfs{root: root, names: map[string]string{"u0": "root", "g0": "wheel"}}
}

func TestCraftedOSData(t *testing.T) {
	fs := craftedProc(t)
	owner := fs.owner("7")
	type m = map[string]string
	for annex, want := range map[string][]m{
		"cpus":    {{"processor": "0", "model name": "X: Y"}, {"processor": "1"}},
		"files":   {{"pid": "7", "command": "a) <b", "file descriptor": "0", "name": "0"}},
		"modules": {{"name": "nf", "size": "4096", "num uses": "1", "dependencies": "a,b,", "status": "Live", "address": "ffffffffc0000000"}},
		"msg":     nil,
		"processes": {
			{"pid": "5", "user": owner, "command": "[kernel]", "cores": "0"},
			{"pid": "7", "user": owner, "command": "/bin/a -x", "cores": "1,3"},
		},
		"procgroups": {
			{"pgid": "7", "leader command": "a) <b", "pid": "7", "command line": "/bin/a -x"},
			{"pgid": "7", "leader command": "a) <b", "pid": "5", "command line": "[kernel]"},
		},
		"semaphores": {{
			"key": "77", "semid": "2", "permissions": "600", "num semaphores": "3", "user": "4000000000", "group": "4000000000",
			"creator user": "root", "creator group": "wheel", "last semop() time": "", "last semctl() time": showTime(nil, "86400"),
		}},
		"shm": nil,
		"sockets": {
			{
				"local address": "127.0.0.1", "local port": "8080", "remote address": "0.0.0.0", "remote port": "0",
				"state": "LISTEN", "user": "4000000000", "family": "INET", "protocol": "STREAM",
			},
			{
				"local address": "::ffff:127.0.0.1", "local port": "22", "remote address": "::1", "remote port": "1",
				"state": "(unknown)", "user": "4000000000", "family": "INET6", "protocol": "STREAM",
			},
		},
		"threads": {
			{"pid": "5", "command": "kernel", "tid": "5", "core": "0"},
			{"pid": "7", "command": "a) <b", "tid": "7", "core": "3"},
			{"pid": "7", "command": "a) <b", "tid": "12", "core": "1"},
		},
	} {
		if _, got := osItems(t, fs.object(annex)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\nwant %v", annex, got, want)
		}
	}
	if got := fs.object("nonsense"); len(got) != 0 {
		t.Errorf("an unknown kind: %s", got)
	}
}

// keep are the items with a value in a column.
func keep(items []map[string]string, column, value string) []map[string]string {
	return slices.DeleteFunc(items, func(m map[string]string) bool { return m[column] != value })
}

// ofProcess leaves of a document of gdbserver what it says of one process: of others
// there may be command lines that are no XML, and it passes them on as they are.
func ofProcess(doc []byte, pid string) []byte {
	begin := bytes.Index(doc, []byte("<item>"))
	end := bytes.LastIndex(doc, []byte("</item>"))
	if begin < 0 || end < 0 {
		return doc
	}
	end += len("</item>")
	kept := bytes.Clone(doc[:begin])
	for item := range bytes.SplitAfterSeq(doc[begin:end], []byte("</item>")) {
		if bytes.Contains(item, []byte(`<column name="pid">`+pid+`</column>`)) {
			kept = append(kept, item...)
		}
	}
	return append(kept, doc[end:]...)
}

// What is said of a process and of the machine is what gdbserver says.
func TestOSDataAgainstGdbserver(t *testing.T) {
	c := running(t, compile(t, "loader.c"), nil)
	pid := fmt.Sprint(c.pid)
	annexes := []string{"", "types", "cpus", "files", "modules", "processes", "procgroups", "threads"}
	server := gdbserver(t, c.pid)
	for _, annex := range annexes {
		ours, err := OSData(annex)
		if err != nil {
			t.Fatal(err)
		}
		kind, got := osItems(t, ours)
		theirs := server.object("osdata", annex)
		switch annex {
		case "files", "processes", "procgroups", "threads":
			got, theirs = keep(got, "pid", pid), ofProcess(theirs, pid)
		}
		theirKind, want := osItems(t, theirs)
		for _, m := range slices.Concat(got, want) {
			for _, changes := range []string{"core", "cores", "cpu MHz"} {
				delete(m, changes)
			}
		}
		if kind != theirKind || !reflect.DeepEqual(got, want) || len(want) == 0 && annex != "modules" {
			t.Errorf("%q: %s %v\ngdbserver says %s %v", annex, kind, got, theirKind, want)
		}
	}
}
