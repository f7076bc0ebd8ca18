package rsp

import (
	"math/rand/v2"
	"reflect"
)

// randomPacket fills a packet of type t with random values. What a field's type
// cannot say (a field that is only sent together with another) is in adjust.
func randomPacket(r *rand.Rand, t reflect.Type) Packet {
	v := reflect.New(t).Elem()
	fill(r, v)
	if f, ok := adjust[t]; ok {
		return f(r, v.Interface().(Packet))
	}
	return v.Interface().(Packet)
}

// makers make the values that are more than their fields.
var makers = map[reflect.Type]func(*rand.Rand) any{
	reflect.TypeFor[Word]():  func(r *rand.Rand) any { return Word(randomWord(r)) },
	reflect.TypeFor[Text]():  func(r *rand.Rand) any { return Text(randomBytes(r, 0)) },
	reflect.TypeFor[Bytes](): func(r *rand.Rand) any { return nilIfEmpty(Bytes(randomBytes(r, 0))) },
	reflect.TypeFor[Raw]():   func(r *rand.Rand) any { return Raw(randomBytes(r, 0)) },
	reflect.TypeFor[Expr]():  func(r *rand.Rand) any { return Expr(randomBytes(r, 0)) },
	reflect.TypeFor[BreakpointType](): func(r *rand.Rand) any {
		return BreakpointType(r.IntN(5))
	},
	reflect.TypeFor[ThreadID](): func(r *rand.Rand) any {
		id := ThreadID{TID: int64(r.IntN(1<<20)) - 1}
		if r.IntN(2) == 0 {
			id.Multi, id.PID = true, int64(r.IntN(1<<20))-1
		}
		return id
	},
	reflect.TypeFor[Registers](): func(r *rand.Rand) any {
		v := Registers{Data: append([]byte{}, randomBytes(r, 1)...)}
		if r.IntN(2) == 0 {
			v.Missing = make([]bool, len(v.Data))
			for i := range v.Missing {
				if v.Missing[i] = i == 0 || r.IntN(3) == 0; v.Missing[i] {
					v.Data[i] = 0
				}
			}
		}
		return v
	},
	reflect.TypeFor[Feature](): func(r *rand.Rand) any {
		f := Feature{Name: randomWord(r), Mark: "+-?="[r.IntN(4)]}
		if f.Mark == '=' {
			f.Value = randomWord(r)
		}
		return f
	},
	reflect.TypeFor[Permission](): func(r *rand.Rand) any {
		return Permission{randomWord(r), r.IntN(2) == 0}
	},
	reflect.TypeFor[Note](): func(r *rand.Rand) any {
		return Note{Word(randomWord(r)), Text(randomBytes(r, 0))}
	},
	reflect.TypeFor[Marker](): func(r *rand.Rand) any {
		return Marker{randomNumber(r), Text(randomBytes(r, 0)), Text(randomBytes(r, 0))}
	},
	reflect.TypeFor[Range](): func(r *rand.Rand) any { return Range{randomNumber(r), randomNumber(r)} },
	reflect.TypeFor[RegisterValue](): func(r *rand.Rand) any {
		return RegisterValue{randomNumber(r) >> 32, Bytes(randomBytes(r, 1))}
	},
	reflect.TypeFor[Reason]():       func(r *rand.Rand) any { return randomReason(r) },
	reflect.TypeFor[ResumeAction](): func(r *rand.Rand) any { return randomResume(r) },
	reflect.TypeFor[Action]():       func(r *rand.Rand) any { return randomAction(r) },
	reflect.TypeFor[FrameQuery]():   func(r *rand.Rand) any { return randomQuery(r) },
}

func nilIfEmpty(b Bytes) Bytes {
	if len(b) == 0 {
		return nil
	}
	return b
}

func randomReason(r *rand.Rand) Reason {
	v := Reason{Kind: ReasonKind(r.IntN(len(reasons)))}
	switch reasons[v.Kind].arg {
	case argAddr, argNumber:
		v.Number = randomNumber(r)
	case argThread:
		v.Thread = ThreadID{int64(r.IntN(1000)), int64(r.IntN(1000)), true}
	case argText:
		v.Text = Text(randomBytes(r, 0))
	case argWord:
		v.Text = "begin"
	}
	return v
}

func randomResume(r *rand.Rand) ResumeAction {
	v := ResumeAction{Kind: "cCsStr"[r.IntN(6)]}
	switch v.Kind {
	case 'C', 'S':
		v.Signal = Octet(r.IntN(256))
	case 'r':
		v.Range = Range{randomNumber(r), randomNumber(r)}
	}
	if r.IntN(2) == 0 {
		v.Thread = &ThreadID{int64(r.IntN(1000)), -1, true}
	}
	return v
}

func randomAction(r *rand.Rand) Action {
	v := Action{Kind: "RMXL"[r.IntN(4)]}
	switch v.Kind {
	case 'R':
		v.Mask = Bytes(randomBytes(r, 1))
	case 'M':
		v.Base = int64(r.IntN(200)) - 1
		v.Offset, v.Length = randomNumber(r), randomNumber(r)
	case 'X':
		v.Expr = Expr(randomBytes(r, 0))
	}
	return v
}

func randomQuery(r *rand.Rand) FrameQuery {
	v := FrameQuery{Kind: FrameQueryKind(r.IntN(5))}
	switch v.Kind {
	case FrameNumber:
		v.Frame = int64(r.IntN(1000)) - 1
	case FrameTracepoint:
		v.Tracepoint = randomNumber(r)
	case FramePC:
		v.Range.Start = randomNumber(r)
	default:
		v.Range = Range{randomNumber(r), randomNumber(r)}
	}
	return v
}

// adjust mends packets whose fields depend on one another.
var adjust = map[reflect.Type]func(*rand.Rand, Packet) Packet{
	reflect.TypeFor[InsertBreakpoint](): func(r *rand.Rand, p Packet) Packet {
		v := p.(InsertBreakpoint)
		v.Persist = v.Persist && len(v.Commands) > 0
		return v
	},
	reflect.TypeFor[Stopped](): func(r *rand.Rand, p Packet) Packet {
		v := p.(Stopped)
		v.Others = nil
		if r.IntN(4) == 0 {
			v.Others = []string{"later:" + randomWord(r)}
		}
		// A change of libraries is sent last.
		var first, last []Reason
		for _, x := range v.Reasons {
			if x.Kind == LibraryChange {
				last = append(last, x)
			} else {
				first = append(first, x)
			}
		}
		v.Reasons = append(first, last...)
		return v
	},
	reflect.TypeFor[TraceStatus](): func(r *rand.Rand, p Packet) Packet {
		v := p.(TraceStatus)
		v.Stop = StopReason(r.IntN(len(stopReasons)))
		if !stopReasons[v.Stop].text {
			v.StopText = ""
		}
		if v.Stop == StopNotGiven {
			v.StopNumber = 0
		}
		v.Others = nil
		if r.IntN(4) == 0 {
			v.Others = []string{"later:" + randomWord(r)}
		}
		return v
	},
	// ,C follows an error number.
	reflect.TypeFor[FileResult](): func(r *rand.Rand, p Packet) Packet {
		v := p.(FileResult)
		v.Interrupted = v.Interrupted && v.Errno != nil
		return v
	},
}

func fill(r *rand.Rand, v reflect.Value) {
	if m, ok := makers[v.Type()]; ok {
		v.Set(reflect.ValueOf(m(r)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Uint64:
		v.SetUint(randomNumber(r))
	case reflect.Int64:
		v.SetInt(int64(randomNumber(r)>>1) * int64(r.IntN(3)-1))
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(randomWord(r))
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		for range r.IntN(4) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(r, e)
			v.Set(reflect.Append(v, e))
		}
	default:
		panic("no random value for " + v.Type().String())
	}
}

// randomNumber has all lengths equally often.
func randomNumber(r *rand.Rand) uint64 { return r.Uint64() >> r.IntN(64) }

func randomWord(r *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyz-_"
	b := make([]byte, 1+r.IntN(12))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func randomBytes(r *rand.Rand, atLeast int) []byte {
	b := make([]byte, atLeast+r.IntN(40))
	same := r.IntN(3) == 0 // runs, and bytes that must be escaped
	for i := range b {
		b[i] = byte(r.Uint32())
		if same {
			b[i] = "\x00$#}*\xff]"[r.IntN(7)]
		}
	}
	return b
}
