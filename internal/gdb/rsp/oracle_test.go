package rsp

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// sessions are the scripts in testdata with gdbserver's arguments, and what else is
// to be seen in them.
var sessions = []struct {
	name string
	args []string
	also func(t *testing.T, rec *recorder, out, dir string)
}{
	{"run", []string{"127.0.0.1:0", "PROGRAM"}, checkDescription},
	{"trace", []string{"127.0.0.1:0", "PROGRAM"}, checkSavedFile},
	{"old", []string{"127.0.0.1:0", "PROGRAM"}, nil},
	{"nonstop", []string{"--multi", "127.0.0.1:0"}, nil},
	{"children", []string{"--multi", "127.0.0.1:0"}, nil},
}

// unknownToUs are packets that GDB sends and this package leaves to Unknown.
var unknownToUs = map[string]string{
	"q":  "not a packet: the script sends it to see the empty answer",
	"qP": "the predecessor of qThreadExtraInfo, tried where threads cannot be read as a document",
}

// malformedOnPurpose are packets of the scripts that are wrong.
var malformedOnPurpose = map[string]string{
	"QNonStop:2": "a flag that is neither 0 nor 1",
	"QTDP:":      "a definition of nothing",
	"c0;q":       "an address with more behind it",
	"X0,0":       "a write without its colon",
}

// canonical are the ways in which a packet may come back with other bytes and the
// same meaning.
var canonical = []struct {
	why  string
	from *regexp.Regexp
	to   string
}{
	{"leading zeros of numbers", regexp.MustCompile(`(^|[:;,=TFmrWX])0+([0-9a-f])`), "$1$2"},
	{"a colon behind the last text of a trace status", regexp.MustCompile(`(notes:[0-9a-f]*):$`), "$1"},
	{"upper case digits in agent expressions", regexp.MustCompile(`X[0-9A-F]{8},`), ""},
}

// TestOracleSessions: every packet of real sessions of GDB 13 with gdbserver is
// understood and comes back byte by byte.
func TestOracleSessions(t *testing.T) {
	seen := coverage{}
	for _, s := range sessions {
		t.Run(s.name, func(t *testing.T) {
			rec, out, dir := record(t, s.name, s.args...)
			rec.check(t, seen)
			if s.also != nil {
				s.also(t, rec, out, dir)
			}
			if t.Failed() || os.Getenv("JALON_RSP_TALK") != "" {
				t.Logf("GDB said:\n%s", out)
			}
		})
	}
	seen.report(t)
}

// check parses what was recorded.
func (rec *recorder) check(t *testing.T, seen coverage) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	var request Packet = QueryHalt{}
	for _, m := range rec.messages {
		switch {
		case m.kind == FrameInterrupt:
		case m.kind == FrameNotification:
			p, err := ParseNotification(m.payload)
			same(t, m, p, err, StopNotification)
			seen.reply("%Stop", p)
		case m.fromGDB:
			p, err := Parse(m.payload)
			if malformedOnPurpose[string(m.payload)] != "" {
				if err == nil {
					t.Errorf("%q was accepted: %#v", m.payload, p)
				}
				request = Unknown{}
				continue
			}
			if _, ok := p.(Unknown); ok && unknownToUs[strings.TrimRight(string(m.payload), hexDigits)] == "" {
				t.Errorf("unknown packet %q", m.payload)
			}
			same(t, m, p, err, Encode)
			request = p
			seen.packet(p)
		default:
			p, err := ParseReply(request, m.payload)
			if err != nil {
				t.Errorf("answer to %#v: %v", request, err)
				continue
			}
			same(t, m, p, err, Encode)
			seen.reply(typeName(request), p)
		}
	}
	if len(rec.messages) < 100 {
		t.Errorf("only %d packets were exchanged", len(rec.messages))
	}
	t.Logf("%d packets", len(rec.messages))
}

// same compares what was read with what is written for it.
func same(t *testing.T, m message, p Packet, err error, encode func(Packet) []byte) {
	t.Helper()
	if err != nil {
		t.Errorf("%q: %v", m.payload, err)
		return
	}
	got, want := string(encode(p)), string(m.payload)
	if got == want {
		return
	}
	for _, c := range canonical {
		got, want = c.from.ReplaceAllString(got, c.to), c.from.ReplaceAllString(want, c.to)
		if got == want {
			return
		}
	}
	t.Errorf("%.300q\ncomes back as\n%.300q", m.payload, encode(p))
}

// coverage counts types: packets under their name, replies under "request > reply".
type coverage map[string]int

func (c coverage) packet(p Packet) {
	if p != nil {
		c[typeName(p)]++
	}
}

func (c coverage) reply(request string, p Packet) {
	if p != nil {
		c[request+" > "+typeName(p)]++
	}
}

func typeName(p Packet) string { return reflect.TypeOf(p).Name() }

// notSeen are the packets that no session has, each with the reason.
var notSeen = map[string]string{
	"Restart":    "GDB sends it to stubs without vRun",
	"Reset":      "no command of GDB sends it any more",
	"Error":      "GDB's answer where it cannot relocate an instruction; here it can",
	"FileResult": "gdbserver leaves the program's system calls to the program",
}

// report prints the table of packets. It fails if a packet is neither seen nor excused, or both.
func (c coverage) report(t *testing.T) {
	var lines []string
	for _, table := range tables {
		for _, r := range table {
			name := typeName(r.packet)
			var replies []string
			for k, n := range c {
				if reply, ok := strings.CutPrefix(k, name+" > "); ok {
					replies = append(replies, fmt.Sprintf("%s %d", reply, n))
				}
			}
			sort.Strings(replies)
			lines = append(lines, fmt.Sprintf("%-24s %-60.60s %5d  %s", name, r.packet.Layout(), c[name], strings.Join(replies, ", ")))
			if why := notSeen[name]; (c[name] == 0) == (why == "") {
				t.Errorf("%s was seen %d times; excuse: %q", name, c[name], why)
			}
		}
	}
	t.Logf("packets seen:\n%s", strings.Join(lines, "\n"))
}
