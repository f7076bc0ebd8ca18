package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

// mapShow does not write to a line that other CPUs read, if the key is shown already.
func (ma *mapped) mapShow(in *ir.Instr) {
	state := int32(maps.Shown ^ maps.Hidden)
	if tab := &ma.c.Maps[in.Aux]; tab.Single || tab.Reuse { // jalon may have retired it
		state = maps.Shown
	}
	ma.ofSlot(in, func(slot asm.Register) {
		done := ma.newLabel()
		ma.emit(asm.LoadMem(scratch, slot, maps.Tag, asm.Word))
		ma.jumpIfImm(asm.JSet, 8, scratch, maps.Shown^maps.Hidden, done)
		ma.emit(asm.Or.Imm(scratch, state))
		ma.emit(asm.StoreMem(slot, maps.Tag, scratch, asm.Word))
		ma.bind(done)
	})
}

func (ma *mapped) mapHide(in *ir.Instr) {
	ma.ofSlot(in, func(slot asm.Register) {
		ma.emit(asm.LoadMem(scratch, slot, maps.Tag, asm.Word))
		ma.emit(asm.And.Imm(scratch, ^(maps.Shown ^ maps.Hidden)))
		if ma.c.Maps[in.Aux].Reuse { // never retired, as it may be to what was loaded
			ma.emit(asm.Or.Imm(scratch, maps.Hidden))
		}
		ma.emit(asm.StoreMem(slot, maps.Tag, scratch, asm.Word))
	})
}

func (ma *mapped) keyWord(in *ir.Instr) {
	if k, ok := ma.small(in.A, 8); ok {
		ma.storeImm(asm.R10, ma.keyAt(in.Imm), 8, int64(k))
		return
	}
	ma.emit(asm.StoreMem(asm.R10, ma.keyAt(in.Imm), ma.reg(in.A, scratch), asm.DWord))
}

// keyText reads a string to the stack. The helper ends it with a NUL, so the last byte is read by itself if there is one.
func (ma *mapped) keyText(in *ir.Instr) {
	for n := range (in.Aux + 7) / 8 {
		ma.storeImm(asm.R10, ma.keyAt(in.Imm+n), 8, 0)
	}
	text := func() side {
		s := ma.addressArgument(in)
		ma.pointTo(asm.R1, asm.R10, int64(ma.keyAt(in.Imm)))
		ma.movImm(asm.R2, in.Aux)
		ma.probeRead(true, s)
		return s
	}
	full, done, missing, read := ma.newLabel(), ma.newLabel(), ma.newLabel(), ma.newLabel()
	fault := done
	if f, ok := ma.an.faults(in); ok {
		fault = ma.faultLabel(in, f)
	}
	s := text()
	if ma.c.Sleeps && s != kernelSide {
		ma.jumpIfImm(asm.JSLT, 8, asm.R0, 0, missing)
		ma.rare(func() {
			ma.bind(missing)
			for _, off := range []int64{0, in.Aux - 1} { // the string may cross a border of pages
				ma.byteAt(in, off, int64(ma.area(areaWord)))
			}
			text()
			ma.jump(read)
		})
	}
	ma.bind(read)
	ma.jumpIfImm(asm.JSLT, 8, asm.R0, 0, fault)
	ma.jumpIfImm(asm.JEq, 8, asm.R0, int32(in.Aux), full)
	ma.bind(done)
	ma.rare(func() {
		ma.bind(full)
		ma.byteAt(in, in.Aux-1, int64(ma.keyAt(in.Imm))+in.Aux-1)
		ma.jumpIfImm(asm.JNE, 8, asm.R0, 0, fault)
		ma.jump(done)
	})
}

// byteAt reads a byte of a string to a place on the stack.
func (ma *mapped) byteAt(in *ir.Instr, off, to int64) {
	s := ma.addressArgument(in)
	if off != 0 {
		ma.addImm(asm.R3, off, asm.R1)
	}
	ma.pointTo(asm.R1, asm.R10, to)
	ma.movImm(asm.R2, 1)
	ma.probeRead(false, s)
}
