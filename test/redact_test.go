package test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedact: neither a field that is redacted by name nor a text that matches a pattern is anywhere in a recording, its state, its
// description or what is printed while it is recorded; the rest is there. Files are the user's only.
func TestRedact(t *testing.T) {
	prog := compile(t, "gcc", "secrets.c", "-g", "-O1")
	list := "*l, l->in, l->in[0]@2, line, str(line), token, l->password, (char)token, $comm, $bt"
	for _, flags := range [][]string{nil, {"--compress", "--size", "4k"}} {
		dir := filepath.Join(t.TempDir(), "run")
		args := append([]string{"record", "-o", dir, "--live", "--redact", "pass*", "--redact", "pin", "--redact", "token", "--redact", "/s3[cr]+et[0-9]+/", "--redact=/HUNTER2|secretname/"}, flags...)
		r := jalon(t, append(args, "check_login", "-c", list, "--", prog, "s3cret9", "HUNTER2")...)
		if r.status != 0 {
			t.Fatalf("%d: %s", r.status, r.stderr)
		}
		files, secrets := 0, []string{"s3cret", "HUNTER2", "hunter3", "secretname", "\xa1\xe7\xc2\x5e"} // the last is the pin
		check := func(where, text string) {
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%s has %q", where, s)
				}
			}
		}
		check("the output", r.stdout)
		if n := strings.Count(r.stdout, "id = "); n != 100 || !strings.Contains(r.stdout, `"GET /?key=*******&x=1"`) || !strings.Contains(r.stdout, "password = <redacted>") {
			t.Errorf("%d events: %.600s", n, r.stdout)
		}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := e.Info()
			if err != nil {
				return err
			}
			if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[e.IsDir()]; st.Mode().Perm() != want {
				t.Errorf("%s has mode %v", path, st.Mode())
			}
			if !e.IsDir() {
				files++
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				check(path, string(b))
			}
			return nil
		})
		if err != nil || files < 5 {
			t.Fatalf("%d files, %v", files, err)
		}
		report := jalon(t, "report", dir, "-f", "json")
		check("the report", report.stdout)
		n := 0
		for line := range strings.Lines(report.stdout) {
			var ev struct {
				Comm   string
				Values map[string]any
				Errors map[string]string
			}
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			l := ev.Values["*l"].(map[string]any)
			key := fmt.Sprintf("GET /?key=%s&x=%d", strings.Repeat("*", len(fmt.Sprint("s3cret", n))), n)
			if l["id"] != float64(n) || l["user"] != "alice" || l["password"] != nil || l["passphrase"] != nil || l["query"] != key || l["role"] != "admin" || ev.Values["line"] != key || ev.Values["str(line)"] != key || ev.Errors["token"] != "redacted" ||
				ev.Errors["l->password"] != "redacted" || ev.Errors["*l"] != "partly redacted" || ev.Values["$bt"] == nil || ev.Comm != "**********" {
				t.Fatalf("event %d: %s", n, line)
			}
			n++
		}
		if n != 100 {
			t.Errorf("%d events", n)
		}
		check("the state", jalon(t, "report", dir, "--state").stdout)
	}
	for rule, want := range map[string]string{"/x*/": "matches an empty text", "/x(/": "missing closing", "/x": "ends with a slash", "": "empty name"} {
		if r := jalon(t, "record", "-o", filepath.Join(t.TempDir(), "run"), "--redact", rule, "check_login", "--", prog); r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %d: %s", rule, r.status, r.stderr)
		}
	}
}

// TestRedactPaths: a rule with a path (l->password) is also for the members of structures that are collected whole, however the expression is
// written; what is printed while it is recorded has neither frames nor symbols that match; a rule that redacts nothing is reported.
func TestRedactPaths(t *testing.T) {
	prog := compile(t, "gcc", "secrets.c", "-g", "-O1")
	for _, rule := range []string{"l->password", "l->pass*", "x.password"} {
		dir := filepath.Join(t.TempDir(), "run")
		r := jalon(t, "record", "-o", dir, "--live", "--redact", rule, "check_login", "-c", "*l, l[0], (*l).password, l->password/s, ((struct login *)l)->password, l->user", "--", prog)
		if r.status != 0 || strings.Contains(r.stderr, "nothing that was recorded") {
			t.Fatalf("%s: %d: %s", rule, r.status, r.stderr)
		}
		secret := "hunter3\x00" // hunter34 is the passphrase
		if strings.Contains(r.stdout, `"hunter3"`) || !strings.Contains(r.stdout, `password = <redacted>`) || !strings.Contains(r.stdout, `l->user="alice`) {
			t.Errorf("%s: %.600s", rule, r.stdout)
		}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), secret) {
				t.Errorf("%s: %s has the secret", rule, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := jalon(t, "record", "-o", filepath.Join(t.TempDir(), "run"), "--live", "--redact", "/main|secrets[.]c/", "--redact", "passwort", "--redact", "l->nosuch", "check_login", "-c", "*(void **)$rsp, $bt", "--", prog)
	if r.status != 0 || strings.Contains(r.stdout, "main") || strings.Contains(r.stdout, "secrets.c") || !strings.Contains(r.stdout, "<****+") || !strings.Contains(r.stdout, " ****+") {
		t.Errorf("%d: %.600s", r.status, r.stdout)
	}
	for _, rule := range []string{"passwort", "l->nosuch"} {
		if !strings.Contains(r.stderr, "--redact "+rule+": nothing that was recorded has this name") {
			t.Errorf("no warning for %s: %s", rule, r.stderr)
		}
	}
}
