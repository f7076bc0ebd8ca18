package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sources is what `go list` has of a package.
type sources struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	SFiles     []string
	Standard   bool
	ImportMap  map[string]string
}

// otherPackages checks the types of packages in the order in which they import each other.
type otherPackages struct {
	files *token.FileSet
	done  map[string]*types.Package
}

// TestTypesForArm64: all packages of the command have right types for arm64, where everything except the in-process
// engine is supported. Nothing is compiled: that takes three minutes, since nothing of it is in the cache (`make
// check` does it, and vets their tests). Of packages that are not jalon's the declarations are enough.
func TestTypesForArm64(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,Standard,ImportMap", "../cmd/jalon")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	all := &otherPackages{token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}}
	own, list := 0, json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p sources
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, err := range all.check(&p) {
			t.Error(err)
		}
		if p.own() {
			own++
		}
	}
	if own < 80 {
		t.Errorf("only %d packages of jalon", own)
	}
}

// own: the package is one of jalon.
func (p *sources) own() bool { return strings.HasPrefix(p.ImportPath+"/", module) }

func (o *otherPackages) check(p *sources) (errs []error) {
	if p.ImportPath == "unsafe" {
		return nil
	}
	report := func(err error) {
		if p.own() {
			errs = append(errs, err)
		}
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(o.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			report(err)
			continue
		}
		files = append(files, f)
	}
	conf := types.Config{
		Importer: imports{o, p}, Error: report, IgnoreFuncBodies: !p.own(), FakeImportC: true,
		Sizes: types.SizesFor("gc", "arm64"),
	}
	pkg, err := conf.Check(p.ImportPath, o.files, files, nil)
	if err != nil && pkg == nil {
		report(err)
	}
	o.done[p.ImportPath] = pkg
	if p.own() && len(p.SFiles) == 0 {
		errs = append(errs, o.bodiless(files)...)
	}
	return errs
}

// bodiless are the functions without a body, in a package without assembly. The types of such functions are right.
func (o *otherPackages) bodiless(files []*ast.File) (errs []error) {
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil {
				errs = append(errs, fmt.Errorf("%s: %s has no body", o.files.Position(fn.Pos()), fn.Name))
			}
		}
	}
	return errs
}

// imports resolves the imports of a package.
type imports struct {
	all *otherPackages
	of  *sources
}

func (i imports) Import(path string) (*types.Package, error) {
	if other, ok := i.of.ImportMap[path]; ok {
		path = other
	}
	if p := i.all.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}
