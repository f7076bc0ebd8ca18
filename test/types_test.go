package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a reader must hold in mind of one type and of one file. Split a type that reaches these limits by topic, into
// parts with their own state.
const (
	mostMethods = 50
	mostFields  = 36
	mostLines   = 400
)

// fewMethods is the limit in packages that had types of several hundred methods before.
const fewMethods = 40

var fewMethodsIn = regexp.MustCompile(`^internal/(engine|image|gdb)\b`)

// TestTypeSizes: in all packages no type has so many methods or fields, and no file so many lines, that a reader cannot
// hold it in mind.
func TestTypeSizes(t *testing.T) {
	methods, fields, lines := map[string]int{}, map[string]int{}, map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		lines[path] = files.File(file.Pos()).LineCount()
		dir, err := filepath.Rel("..", filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			count(decl, filepath.ToSlash(dir)+".", methods, fields)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(fields) < 500 || len(methods) < 300 {
		t.Fatalf("%d structs and %d types with methods were found", len(fields), len(methods))
	}
	check := func(what string, counts map[string]int, most int) {
		for name, n := range counts {
			most := most
			if what == "methods" && fewMethodsIn.MatchString(name) {
				most = fewMethods
			}
			if n > most {
				t.Errorf("%s has %d %s; at most %d", name, n, what, most)
			}
		}
	}
	check("methods", methods, mostMethods)
	check("fields", fields, mostFields)
	check("lines", lines, mostLines+1) // LineCount counts an empty line at the end
}

// count adds the methods and fields that a declaration has.
func count(decl ast.Decl, pkg string, methods, fields map[string]int) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			return
		}
		typ := decl.Recv.List[0].Type
		if p, ok := typ.(*ast.StarExpr); ok {
			typ = p.X
		}
		switch g := typ.(type) {
		case *ast.IndexExpr:
			typ = g.X
		case *ast.IndexListExpr:
			typ = g.X
		}
		if name, ok := typ.(*ast.Ident); ok {
			methods[pkg+name.Name]++
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			s, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if typ, ok := s.Type.(*ast.StructType); ok {
				for _, f := range typ.Fields.List {
					fields[pkg+s.Name.Name] += max(1, len(f.Names))
				}
			}
		}
	}
}
