package agentexpr_test

import (
	"encoding/hex"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// expressions on the variables of testdata/values.c.
var expressions = []string{
	"p1", "p2", "p3", "n", "s", "local", "big", "ip", "byte", "*ip", "*s", "s[1]", "&local", "&first", "&first.arr[2]",
	"first.a", "first.b", "first.c", "first.d", "first.f", "first.g", "first.next", "first.arr[3]", "first.in.y", "first.col", "first.yes",
	"n->a", "n->next->d", "n->next->f", "n->next->g", "n->next->arr[1]", "n->next->in.x", "n->next->name[2]", "n->next->yes", "n->next->col",
	"matrix[1][2]", "matrix[p1 - 4][1]", "ui", "ul", "sl", "uc", "sc", "us", "ss", "text[4]", "zero", "none", "none->a", "none->next->d",
	"p1 / zero", "p1 % zero", "2*counter1+3*counter2 < 0", "2*p1+3*p2", "p1 ? p2 : 7", "n && n->next", "none || zero", "!n", "~ul", "-sl",
	"sizeof(first)", "(char)p3", "(unsigned char)sc", "(short)ul", "(long)ui", "(int)ui", "(unsigned short)p2", "(struct node *)text == n",
	"$rsp", "$rip", "$rbp + 8", "*(int *)($rbp - 20)", "*(long *)$rsp", "$rax == 0", "n == &first", "n->next > n", "ip - &local", "&first.arr[3] - &first.arr[1]",
	"ui >> 3", "sl >> 60", "ul >> 60", "1 << p1", "sc >> 1", "ss << 2", "ui / 7", "sl / 7", "sl % 7", "ul % 10", "us * us", "sc * uc", "ui * 3", "p1 == 5 && p2 == -7",
	"first.col == GREEN", "first.arr[0] + second.arr[3]", "text[0] == 'h'", "ui > p2", "ul > sl", "sc < uc", "p2 < ui", "n->b <= ss", "p1 >= 5 || n->a / zero",
}

// collectable are for the collect lists of tracepoints.
var collectable = []string{
	"p1", "p3", "n", "*n", "n->next", "n->next->arr", "n->next->name[1]", "first", "text", "s", "matrix", "matrix[1]", "counter1 + counter2",
	"$regs", "$locals", "$args", "local * 2 + byte", "*ip", "$rsp", "*(long *)$rsp@4", "second.in", "ui", "sl / 3", "first.f",
}

// printfs are what printf is given.
var printfs = []string{
	`"plain\n"`, `"%d and %d\n", p1, n->next->a`, `"%5d|%-5d|%05d\n", p1, p2, counter1`, `"%u %x %#X %o\n", ui, ui, p1, uc`,
	`"%ld %lu %lx\n", sl, ul, n->d`, `"%c%c\n", text[0], s[1]`, `"%s\n", s`, `"<%s> <%s>\n", n->next->name, s`, `"100%% of %d\t%d\n", sc, us`,
	`"%p\n", n`, `"%d %s %d\n", p1, n->name, p2`, `"%lld %llx\n", sl, ul`, `"%zu %+d % d\n", ul, p1, p2`,
	`"%10s|%-10s|\n", s, s`, `"\"\\ %d\n", first.g`,
}

var atoms = []string{
	"p1", "p2", "p3", "local", "big", "byte", "*ip", "ui", "ul", "sl", "uc", "sc", "us", "ss", "counter1", "counter2", "zero",
	"first.a", "first.b", "first.c", "first.d", "first.f", "first.g", "first.arr[1]", "first.in.x", "n->next->a", "n->next->d", "n->next->g",
	"matrix[2][1]", "text[1]", "s[0]", "1", "2", "7", "100", "1000000", "3000000000", "0",
}

var operators = []string{"+", "-", "*", "/", "%", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||"}

var casts = []string{"(char)", "(unsigned char)", "(short)", "(unsigned short)", "(int)", "(unsigned int)", "(long)", "(unsigned long)", "-", "~", "!"}

// randomExpressions makes n integer expressions.
func randomExpressions(r *rand.Rand, n int) []string {
	var list []string
	for range n {
		list = append(list, randomExpression(r, 1+r.Intn(3)))
	}
	return list
}

func randomExpression(r *rand.Rand, depth int) string {
	if depth == 0 {
		return atoms[r.Intn(len(atoms))]
	}
	sub := func() string { return randomExpression(r, r.Intn(depth)) }
	switch r.Intn(10) {
	case 0:
		return casts[r.Intn(len(casts))] + "(" + sub() + ")"
	case 1:
		return fmt.Sprintf("((%s) ? (%s) : (%s))", sub(), sub(), sub())
	case 2:
		return fmt.Sprintf("(%s) %s %d", sub(), []string{"<<", ">>"}[r.Intn(2)], r.Intn(20))
	}
	return fmt.Sprintf("(%s) %s (%s)", sub(), operators[r.Intn(len(operators))], sub())
}

// parsePackets reads the tracepoints in a log of gdb's remote protocol.
func parsePackets(t *testing.T, log string) []*agentexpr.Site {
	t.Helper()
	byNumber, order := map[string]*agentexpr.Site{}, []*agentexpr.Site{}
	for line := range strings.SplitSeq(log, "\n") {
		body, ok := strings.CutPrefix(line, "w $QTDP:")
		if !ok {
			continue
		}
		body, _, _ = strings.Cut(body, "#")
		body = strings.TrimSuffix(body, "-")
		f := strings.SplitN(body, ":", 3)
		number, more := strings.CutPrefix(f[0], "-")
		site := byNumber[number]
		if !more {
			site = &agentexpr.Site{Name: "tracepoint " + number}
			byNumber[number] = site
			order = append(order, site)
			if _, cond, ok := strings.Cut(body, ":X"); ok {
				site.Cond, _ = packetExpr(t, cond, agentexpr.ForCondition)
			}
			continue
		}
		parseActions(t, site, f[2])
	}
	return order
}

// packetExpr reads "len,hex" and returns what follows.
func packetExpr(t *testing.T, s string, use agentexpr.Use) (*agentexpr.Expr, string) {
	t.Helper()
	size, rest, _ := strings.Cut(s, ",")
	n, err := strconv.ParseUint(size, 16, 16)
	check(t, err)
	code, err := hex.DecodeString(rest[:2*n])
	check(t, err)
	e, err := agentexpr.Validate(code, use)
	check(t, err)
	return e, rest[2*n:]
}

func parseActions(t *testing.T, site *agentexpr.Site, s string) {
	t.Helper()
	for s != "" {
		switch s[0] {
		case 'R':
			end := 1
			for end < len(s) && strings.IndexByte("0123456789abcdef", s[end]) >= 0 {
				end++
			}
			digits := s[1:end]
			if len(digits)%2 != 0 {
				digits = "0" + digits
			}
			mask, err := hex.DecodeString(digits)
			check(t, err)
			for i, j := 0, len(mask)-1; i < j; i, j = i+1, j-1 {
				mask[i], mask[j] = mask[j], mask[i]
			}
			site.Actions = append(site.Actions, agentexpr.Action{Kind: agentexpr.CollectRegs, Regs: agentexpr.RegisterMask(mask)})
			s = s[end:]
		case 'M':
			f := strings.SplitN(s[1:], ",", 3)
			end := 0
			for end < len(f[2]) && strings.IndexByte("0123456789abcdef", f[2][end]) >= 0 {
				end++
			}
			base, err := strconv.ParseInt(f[0], 16, 64)
			check(t, err)
			off, err := strconv.ParseUint(f[1], 16, 64)
			check(t, err)
			n, err := strconv.ParseInt(f[2][:end], 16, 64)
			check(t, err)
			if base == 0xffffffff {
				base = -1
			}
			site.Actions = append(site.Actions, agentexpr.Action{Kind: agentexpr.CollectMemory, Base: int(base), Offset: int64(off), Len: n})
			s = f[2][end:]
		case 'X':
			e, rest := packetExpr(t, s[1:], agentexpr.ForAction)
			site.Actions = append(site.Actions, agentexpr.Action{Kind: agentexpr.Evaluate, Expr: e})
			s = rest
		default:
			t.Fatalf("action %q", s)
		}
	}
}
