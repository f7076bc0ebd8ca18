package jalon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the path of the compiled testdata/work.c.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(withoutRights) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "jalon-api")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "work")
	if msg, err := exec.Command("gcc", "-g", "-O1", "-o", program, "testdata/work.c").CombinedOutput(); err != nil {
		fmt.Printf("gcc: %v\n%s", err, msg)
		return 1
	}
	return m.Run()
}
