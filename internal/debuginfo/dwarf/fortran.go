package dwarf

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Fortran's modules. A procedure sees the names of the modules that it uses, then those of what is around it: the procedure that
// contains it, the module and what this uses. gfortran does not describe ONLY lists and renamed names, so a name that two modules
// have is not decided where both are used.

// isModuleName reports whether an entry is a variable or a PARAMETER.
func isModuleName(d die) bool {
	return d.ab.tag == tagVariable || d.ab.tag == tagConstant && d.located()
}

// ofModules finds a name that is not the procedure's own; nil: the program has none.
func (fi *finder) ofModules(name string) *debuginfo.Variable {
	used := []die{}
	for _, b := range fi.chain() {
		used = append(used, modulesOf(b.imports)...)
	}
	list := fi.inModules(used, name)
	around := fi.around()
	for i := len(around) - 1; i >= 0 && len(list) == 0; i-- {
		var constants []die
		used = used[:0]
		if around[i].ab.tag == tagModule {
			used = append(used, around[i])
		}
		for c := range around[i].children() {
			switch {
			case c.ab.tag == tagImportedModule:
				used = append(used, modulesOf([]die{c})...)
			case c.ab.tag == tagConstant && around[i].ab.tag == tagSubprogram && c.name() == name && c.located():
				constants = append(constants, c)
			}
		}
		if list = constants; len(list) == 0 {
			list = fi.inModules(used, name)
		}
	}
	if len(list) == 0 && len(splitName(name)) == 1 {
		list = fi.inModules(nil, name)
	}
	return fi.onlyOne(name, list)
}

// around lists what the function of the place lies in, outermost first.
func (fi *finder) around() []die {
	chain := fi.chain()
	if len(chain) == 0 {
		return nil
	}
	return chain[len(chain)-1].d.declaration().context().blocks()
}

func modulesOf(imports []die) (list []die) {
	for _, e := range imports {
		if t, ok := e.imported(); ok && e.ab.tag == tagImportedModule && t.ab.tag == tagModule {
			list = append(list, t)
		}
	}
	return list
}

// inModules finds a name in each of the modules, also where they are described by other units; nil: in all modules of the program,
// first those of the unit.
func (fi *finder) inModules(modules []die, name string) (list []die) {
	take := func(d die) bool {
		in := d.context().names()
		switch {
		case !isModuleName(d) || d.deepFlag(atDeclaration) || len(in) == 0:
		case modules != nil && !slices.ContainsFunc(modules, func(m die) bool { return m.name() == in[len(in)-1] }):
		case slices.ContainsFunc(list, func(e die) bool { return slices.Equal(e.context().names(), in) }):
		default:
			list = append(list, d)
		}
		return false
	}
	if fi.u == nil || modules != nil && len(modules) == 0 {
		return nil
	}
	if fi.u.lookup(name, take); modules != nil || len(list) == 0 {
		fi.m.names().find(name, isVarTag, func(d die) bool { return !take(d) })
	}
	return list
}

// onlyOne is the variable that a name means, if it is one.
func (fi *finder) onlyOne(name string, list []die) *debuginfo.Variable {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return fi.fileLevel(list[0])
	}
	var full []string
	for _, d := range list {
		full = append(full, d.context().qualified())
	}
	v := &debuginfo.Variable{Name: name, Type: fi.m.typeOf(list[0])}
	v.Loc.Unavailable = "several modules have it: write " + strings.Join(full, " or ")
	return v
}
