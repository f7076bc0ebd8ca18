package test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Limits of what a reader can keep in mind.
const (
	maxMethods = 40
	maxLines   = 400
)

// TestSizes: in the engines, in image and in the packages that serve GDB no type has more
// than maxMethods methods, and no file more than maxLines lines.
func TestSizes(t *testing.T) {
	var files []string
	for _, dir := range []string{"gdb/*", "engine", "engine/*", "image"} {
		list, err := filepath.Glob("../internal/" + dir + "/*.go")
		if err != nil || len(list) == 0 {
			t.Fatalf("%d files in %s, %v", len(list), dir, err)
		}
		files = append(files, list...)
	}
	methods := map[string]int{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines", path, n)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[file.Name.Name+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods", name, n)
		}
	}
}

// receiver is the name of the type that a method is of.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
