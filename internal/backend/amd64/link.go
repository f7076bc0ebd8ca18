package amd64

import (
	"encoding/binary"
	"fmt"
	"math"
)

// linked maps points to final offsets from the base address.
type linked struct {
	secStart [numSections]int
	secLen   [numSections]int
	sums     [numSections][]int // sums[s][n]: bytes of the first n jumps of section s
	labels   []point
}

func (l *linked) off(p point) int {
	if p.sec == numSections {
		panic("BUG: amd64: label not bound")
	}
	return l.secStart[p.sec] + p.off + l.sums[p.sec][p.jumps]
}

func (a *asm) measure() *linked {
	l := &linked{labels: a.labels}
	start := 0
	for s := range a.jumps {
		sums := make([]int, len(a.jumps[s])+1)
		for i, j := range a.jumps[s] {
			sums[i+1] = sums[i] + j.size
		}
		l.sums[s], l.secStart[s] = sums, start
		l.secLen[s] = len(a.buf[s]) + sums[len(sums)-1]
		switch {
		case section(s) == secCold && a.cold != 0:
			l.secStart[s] = int(a.cold - a.base)
		case section(s) == secData:
			l.secStart[s] = a.alignData(l.secStart[secCold] + l.secLen[secCold])
			if a.cold == 0 {
				start += a.dataRoom()
			}
		default:
			start += l.secLen[s]
		}
	}
	return l
}

// alignData is the first offset from off on where a descriptor may be.
func (a *asm) alignData(off int) int {
	return off + int(-(a.base+uint64(off))&(sequenceAlign-1))
}

// dataRoom is what the descriptors take between other sections. It does not depend on their alignment: a section behind
// it must not move away from those before it when these get shorter.
func (a *asm) dataRoom() int {
	if len(a.buf[secData]) == 0 {
		return 0
	}
	return len(a.buf[secData]) + sequenceAlign - 1
}

// far reports whether j crosses to or from a cold section of its own, whose
// distance changes as jumps shrink.
func (a *asm) far(j *jump) bool {
	return a.cold != 0 && (j.at.sec == secCold) != (a.labels[j.to].sec == secCold)
}

// relax chooses the size of every jump: short first, longer where it does not
// reach, and none for a jump to the next instruction.
func (a *asm) relax() *linked {
	for {
		l, changed := a.measure(), false
		for s := range a.jumps {
			for _, j := range a.jumps[s] {
				d := l.off(a.labels[j.to]) - l.off(j.at) - j.size
				if j.size == 2 && (d != int(int8(d)) || a.far(j)) {
					j.size, changed = 6, true
					if j.cc == ccAlways {
						j.size = 5
					}
				}
			}
		}
		if !changed {
			break
		}
	}
	// Removing a jump only brings others nearer, so no size needs to grow again.
	for {
		l, changed := a.measure(), false
		for s := range a.jumps {
			for _, j := range a.jumps[s] {
				if j.cc == ccAlways && j.size != 0 && !a.far(j) && l.off(a.labels[j.to]) == l.off(j.at)+j.size {
					j.size, changed = 0, true
					break
				}
			}
		}
		if !changed {
			return l
		}
	}
}

// link lays out the sections and resolves everything. cold is empty when the
// cold section lies within code.
func (a *asm) link() (code, cold []byte, l *linked, err error) {
	l = a.relax()
	var out [numSections][]byte
	for s := range a.buf {
		if out[s], err = a.section(section(s), l); err != nil {
			return nil, nil, nil, err
		}
	}
	for _, f := range a.rips {
		off := l.off(f.at)
		target := f.target
		if f.lab != noLabel {
			target = a.base + uint64(l.off(a.labels[f.lab])) + uint64(int64(f.disp))
		}
		d := int64(target - (a.base + uint64(off+4+f.tail)))
		if d != int64(int32(d)) {
			return nil, nil, nil, fmt.Errorf("address %#x is out of reach of code at %#x", target, a.base)
		}
		binary.LittleEndian.PutUint32(out[f.at.sec][off-l.secStart[f.at.sec]:], uint32(d))
	}
	a.describe(l, out[secData])
	cold = a.withData(l, out[secCold], out[secData])
	if a.cold != 0 {
		return append(out[secHot], out[secTail]...), cold, l, nil
	}
	return append(append(out[secHot], cold...), out[secTail]...), nil, l, nil
}

// withData puts the descriptors after the cold section.
func (a *asm) withData(l *linked, cold, data []byte) []byte {
	if len(data) == 0 {
		return cold
	}
	end := len(cold) + a.dataRoom()
	cold = append(cold, make([]byte, l.secStart[secData]-l.secStart[secCold]-len(cold))...)
	cold = append(cold, data...)
	if a.cold == 0 {
		cold = append(cold, make([]byte, end-len(cold))...)
	}
	return cold
}

// section is the code of one section with its jumps.
func (a *asm) section(s section, l *linked) ([]byte, error) {
	var out []byte
	prev := 0
	for _, j := range a.jumps[s] {
		out = append(out, a.buf[s][prev:j.at.off]...)
		prev = j.at.off
		d := l.off(a.labels[j.to]) - (l.secStart[s] + len(out) + j.size)
		if d < math.MinInt32 || d > math.MaxInt32 {
			return nil, fmt.Errorf("the cold code at %#x is out of reach of code at %#x", a.cold, a.base)
		}
		out = j.append(out, d)
	}
	return append(out, a.buf[s][prev:]...), nil
}

// append writes the jump over distance d.
func (j *jump) append(out []byte, d int) []byte {
	switch {
	case j.size == 0:
		return out
	case j.size == 2 && j.cc == ccAlways:
		return append(out, 0xEB, byte(d))
	case j.size == 2:
		return append(out, 0x70|byte(j.cc), byte(d))
	case j.size == 5:
		out = append(out, 0xE9)
	default:
		out = append(out, 0x0F, 0x80|byte(j.cc))
	}
	return binary.LittleEndian.AppendUint32(out, uint32(int32(d)))
}
