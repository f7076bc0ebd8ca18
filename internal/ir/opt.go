package ir

import "fmt"

// Pass is one transformation. It keeps the meaning that eval gives a checked
// program: the same record, counters and end for every machine. (Which of
// several bytes not promised come out may change.) Run reports whether it
// changed anything.
type Pass struct {
	Name string
	Run  func(p *Program) bool
}

// Passes is what Optimize runs, in this order, again and again until a whole
// round changes nothing. The order matters for speed only: each pass leaves
// simpler work to the next.
var Passes = []Pass{
	{"fold", foldPass},               // constants, algebra
	{"demand", demandPass},           // 4 bytes if only these are used
	{"narrow", narrowPass},           // extensions that say nothing new
	{"address", addressPass},         // constant offsets into the loads
	{"cse", csePass},                 // repeated computations and loads
	{"branch", branchPass},           // branches whose way is known
	{"thread", threadPass},           // edges through empty blocks
	{"unreachable", unreachablePass}, // blocks nothing leads to
	{"params", paramsPass},           // parameters that are always the same
	{"merge", mergePass},             // a block with its only successor
	{"dce", dcePass},                 // unused results
	{"compact", compactPass},         // values numbered without holes
}

// maxRounds bounds Optimize. Two or three rounds are usual; what is left after
// the last is correct, only larger.
const maxRounds = 10

// CheckEach makes Optimize check the program after every pass. Tests set it.
var CheckEach = false

// Optimize simplifies p in place. The error says that p is no program (see
// Check); p is unchanged then.
func Optimize(p *Program) error {
	if err := Check(p); err != nil {
		return err
	}
	for range maxRounds {
		changed := false
		for _, pass := range Passes {
			if pass.Run(p) {
				changed = true
				checkAfter(p, pass.Name)
			}
		}
		if !changed {
			break
		}
	}
	return nil
}

func checkAfter(p *Program, pass string) {
	if !CheckEach {
		return
	}
	if err := Check(p); err != nil {
		panic(fmt.Sprintf("BUG: ir: after pass %s: %v\n%s", pass, err, p))
	}
}

// newValue adds a value of class c.
func (p *Program) newValue(c Class) Value {
	p.Classes = append(p.Classes, c)
	return Value(len(p.Classes) - 1)
}
