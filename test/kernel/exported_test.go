package kernel

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportedRecords: in exports the fields of a static tracepoint's own record are arguments of their own, with the values that
// a report has.
func TestExportedRecords(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	if p := jalon(t, "record", "-o", run, "tracepoint:sched:sched_process_exec", "--", "/bin/sh", "-c", "/bin/true; /bin/true"); p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	export := func(to string) []byte {
		file := filepath.Join(dir, "file."+to)
		if p := jalon(t, "export", run, "--to", to, "-o", file); p.Status != 0 {
			t.Fatalf("%s: %d: %s", to, p.Status, p.Errs.String())
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var chrome struct {
		TraceEvents []struct {
			Phase string `json:"ph"`
			Name  string
			Pid   int
			Args  map[string]any
		}
	}
	if err := json.Unmarshal(export("chrome"), &chrome); err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, ev := range chrome.TraceEvents {
		if ev.Phase != "i" {
			continue
		}
		name, _ := ev.Args["filename"].(string)
		if pid, ok := ev.Args["pid"].(float64); !ok || int(pid) != ev.Pid {
			t.Errorf("pid %v in process %d: %v", ev.Args["pid"], ev.Pid, ev.Args)
		}
		if strings.HasSuffix(name, "/true") {
			programs++
		}
	}
	if programs < 2 {
		t.Errorf("%d events of true in %+v", programs, chrome.TraceEvents)
	}
	if b := export("perfetto"); !bytes.Contains(b, []byte("\x08filename")) || bytes.Contains(b, []byte(`{"filename"`)) {
		t.Errorf("the file name has no annotation of its own")
	}
}
