package rsp

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Packet is the contents of a packet of either side: one of the structs of this
// package. Layout is its syntax; see layout.
type Packet interface {
	Layout() string
}

// rule is a row of the tables: a packet that GDB sends and what may answer it, tried
// in order, beside the answers that every packet may get (Unsupported, Error,
// ErrorText).
type rule struct {
	packet  Packet
	replies []Packet
}

// tables are the families of packets, each in a file of its own.
var tables = [][]rule{
	sessionRules, settingRules, threadRules, registerRules, memoryRules, resumeRules,
	breakpointRules, fileRules, xferRules, traceRules, traceQueryRules,
}

// universal are the replies that any packet may get.
var universal = []Packet{Unsupported{}, Error{}, ErrorText{}}

// syntax is what the tables become when the first packet is read or written; it never changes afterwards.
type syntax struct {
	byPrefix map[string][]*layout // packets of GDB
	longest  int                  // of the prefixes
	byType   map[reflect.Type]*layout
	replies  map[reflect.Type][]*layout
}

var packets = sync.OnceValue(func() *syntax {
	s := &syntax{
		byPrefix: map[string][]*layout{},
		byType:   map[reflect.Type]*layout{},
		replies:  map[reflect.Type][]*layout{},
	}
	for _, table := range tables {
		for _, r := range table {
			s.add(r)
		}
	}
	s.learn(Unknown{})
	for _, p := range uploads {
		s.learn(p)
	}
	return s
})

func (s *syntax) add(r rule) {
	l := s.learn(r.packet)
	if l.prefix == "" {
		panic(fmt.Sprintf("BUG: %v has no name", l.typ))
	}
	if _, twice := s.replies[l.typ]; twice {
		panic(fmt.Sprintf("BUG: %v is in the tables twice", l.typ))
	}
	s.byPrefix[l.prefix] = append(s.byPrefix[l.prefix], l)
	s.longest = max(s.longest, len(l.prefix))
	var replies []*layout
	for _, p := range slices.Concat(universal, r.replies) {
		replies = append(replies, s.learn(p))
	}
	s.replies[l.typ] = replies
}

func (s *syntax) learn(p Packet) *layout {
	t := reflect.TypeOf(p)
	if l := s.byType[t]; l != nil {
		return l
	}
	l := compileLayout(p)
	s.byType[t] = l
	return l
}

// Unknown is a packet that this package has no struct for. The answer is the empty
// packet, Unsupported.
type Unknown struct{ Payload Raw }

// Layout implements Packet, as in all the structs below.
func (Unknown) Layout() string { return "{Payload}" }

// Parse reads a packet that GDB sent. What is not known becomes Unknown; what is
// known and malformed gives a *SyntaxError.
func Parse(payload []byte) (Packet, error) {
	known := packets()
	for n := min(len(payload), known.longest); n > 0; n-- {
		forms := known.byPrefix[string(payload[:n])]
		if forms == nil || goesOn(payload, n) {
			continue
		}
		var first error
		for _, l := range forms {
			p, err := l.scan(payload)
			if err == nil {
				return p, nil
			}
			if first == nil || offset(err) > offset(first) {
				first = err
			}
		}
		return nil, first
	}
	return Unknown{append(Raw{}, payload...)}, nil
}

// goesOn reports whether a name of several letters is only the beginning of another: qC of qCRC.
func goesOn(payload []byte, n int) bool {
	return n > 1 && n < len(payload) && isLetter(payload[n-1]) && isLetter(payload[n])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func offset(err error) int {
	var s *SyntaxError
	if errors.As(err, &s) {
		return s.Offset
	}
	return -1
}

// ParseReply reads what a stub answered to request.
func ParseReply(request Packet, payload []byte) (Packet, error) {
	forms, ok := packets().replies[reflect.TypeOf(request)]
	if !ok {
		if len(payload) == 0 {
			return Unsupported{}, nil
		}
		return Unknown{append(Raw{}, payload...)}, nil
	}
	return firstOf(forms, payload)
}

// firstOf reads payload in the first form that fits; the error is of the form that
// came furthest.
func firstOf(forms []*layout, payload []byte) (Packet, error) {
	var best error
	for _, l := range forms {
		p, err := l.scan(payload)
		if err == nil {
			return p, nil
		}
		if best == nil || offset(err) > offset(best) {
			best = err
		}
	}
	if best == nil {
		best = &SyntaxError{Want: "no reply at all"}
	}
	return nil, best
}

// Append appends the payload of a packet of either side. It panics for a type that is in no table.
func Append(dst []byte, p Packet) []byte {
	t := reflect.TypeOf(p)
	l := packets().byType[t]
	if l == nil {
		panic(fmt.Sprintf("BUG: %v is no packet", t))
	}
	v := reflect.New(t)
	v.Elem().Set(reflect.ValueOf(p))
	return l.print(dst, v)
}

// Encode is Append to nothing.
func Encode(p Packet) []byte { return Append(nil, p) }

// learned is the layout of a packet of the tables.
func learned(p Packet) *layout { return packets().byType[reflect.TypeOf(p)] }
