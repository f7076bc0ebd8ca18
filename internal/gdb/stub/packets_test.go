package stub

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// TestNoDescription: a GDB that takes no description of the registers has those that
// it assumes, and the others stay what they are.
func TestNoDescription(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	c.f.desc = rsp.TargetX86Linux(rsp.CPU{AVX: true})
	c.f.threads[0].regs = bytes.Repeat([]byte{0x11}, c.f.desc.Size)
	base := c.f.desc.Base().Size
	c.run([]step{
		{send: "qSupported:multiprocess+;xmlRegisters=arm", want: "PacketSize..."},
		{send: "g", want: strings.Repeat("11", base)},
		{send: "G" + strings.Repeat("22", base), want: "OK"},
		{send: "G" + strings.Repeat("22", c.f.desc.Size), want: "E...."},
		{send: "g", want: strings.Repeat("22", base)},
		{send: fmt.Sprintf("p%x", len(c.f.desc.Base().Registers)), want: "E01"},
	})
	want := append(bytes.Repeat([]byte{0x22}, base), bytes.Repeat([]byte{0x11}, c.f.desc.Size-base)...)
	if !bytes.Equal(c.f.threads[0].regs, want) {
		t.Errorf("%x", c.f.threads[0].regs)
	}
}

func TestRegistersAndMemory(t *testing.T) {
	c := newTalk(t, Caps{}, 2, nil)
	rip := c.f.desc.Registers[16]
	if rip.Name != "rip" {
		t.Fatalf("register 16 is %s", rip.Name)
	}
	regs := string(rsp.Encode(rsp.RegisterData{Values: rsp.Registers{Data: c.f.threads[0].regs}}))
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "g", want: regs},
		{send: "p10", want: regs[2*rip.Offset : 2*rip.Offset+16]},
		{send: "p1000", want: "E01"},
		{send: "P10=1122334455667788", want: "OK"},
		{send: "p10", want: "1122334455667788"},
		{send: "P10=11", want: "E.1 bytes for register rip, which has 8"},
		{send: "P1000=11", want: "E.there is no register 4096"},
		{send: "QSaveRegisterState", want: "1"},
		{send: "P10=0000000000000000", want: "OK"},
		{send: "QRestoreRegisterState:1", want: "OK"},
		{send: "QRestoreRegisterState:1", want: "E.no copy 1..."},
		{send: "p10", want: "1122334455667788"},
		{send: "G" + regs, want: "OK"},
		{send: "g", want: regs},
		{send: "G00", want: fmt.Sprintf("E.1 bytes of registers instead of %d", c.f.desc.Size)},
		{send: "m400000,4", want: "00070e15"},
		{send: "m402ffe,10", want: "2128"}, // the end of it
		{send: "m0,4", want: "E01"},
		{send: "mffffffffffffffff,ffffffffffffffff", want: "E01"},
		{send: "m400000,0", want: ""},
		{send: "mx", want: "E01"},
		{send: "x400000,4", want: "b\x00\x07\x0e\x15"},
		{send: "x0,4", want: "E.no memory at 0x0"},
		{send: "M400000,2:aabb", want: "OK"},
		{send: "M400000,3:aabb", want: "E.3 bytes are announced, 2 come"},
		{send: "X400002,2:\x01$", want: "OK"},
		{send: "X400002,0:", want: "OK"},
		{send: "X0,1:a", want: "E.no memory at 0x0"},
		{send: "Xffffffffffffffff,2:ab", want: "E.memory ends before..."},
		{send: "m400000,4", want: "aabb0124"},
		{send: "qSearch:memory:400000;1000;\x01$", want: "1,400002"},
		{send: "qSearch:memory:400003;10;\x01$", want: "0"},
		{send: "qSearch:memory:0;10;\x01$", want: "E.no memory at 0x0"},
		{send: "qSearch:memory:400000;10;", want: "E.nothing to search for"},
		{send: "qSearch:memory:400000;fffffffffffffff;a", want: "E.a search in..."},
		{send: "qCRC:400000,4", want: fmt.Sprintf("C%x", rsp.CRC32(0xffffffff, []byte{0xaa, 0xbb, 1, '$'}))},
		{send: "qCRC:0,4", want: "E01"},
		{send: "qGetTLSAddr:p64.64,10,2000", want: "2010"},
		{send: "qGetTLSAddr:p64.64,10,0", want: "E.no module has this link map"},
		{send: "qGetTLSAddr:p64.1,10,2000", want: "E.there is no such thread"},
		{send: "qThreadExtraInfo,p64.65", want: hexOf("the thread 101")},
		{send: "qThreadExtraInfo,p64.1", want: "E01"},
		{send: "c400123", want: ""},
	})
	if got := c.f.threads[0].regs[rip.Offset]; got != 0x23 {
		t.Errorf("c with an address leaves rip at ..%x", got)
	}
}

// TestFrame: while a trace frame is selected, it is what GDB sees.
func TestFrame(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	c.run([]step{
		{send: "qXfer:traceframe-info:read::0,100", want: "E.no trace frame is selected"},
		{send: "qXfer:statictrace:read::0,100", want: "E.the trace frame has no static..."},
		{send: "QTFrame:0", want: "F0"},
		{send: "p0", want: "5500000000000000"},
		{send: "p10", want: "xxxxxxxxxxxxxxxx"},
		{send: "g", want: "5500000000000000xxxx..."},
		{send: "m400000,8", want: "deadbeef"},
		{send: "m400100,8", want: "E01"},
		{send: "P10=1122334455667788", want: "E.a trace frame is selected..."},
		{send: "M400000,1:00", want: "E.a trace frame is selected..."},
		{send: "qXfer:traceframe-info:read::0,100", want: "l<traceframe-info/>"},
		{send: "qXfer:statictrace:read::0,3", want: "msta"},
		{send: "qXfer:sdata:read::0,100", want: "lstatic"},
		{send: "QTFrame:ffffffff", want: "F-1"},
		{send: "m400000,4", want: "00070e15"},
		{send: "QTNotKnown", want: ""},
		{send: "qTStatus", want: "T1"},
	})
}

// TestDocuments: the pieces of an object are of the same object.
func TestDocuments(t *testing.T) {
	c := newTalk(t, Caps{Objects: []string{"auxv", "osdata", "siginfo"}, Writable: []string{"siginfo"}}, 1, func(cfg *Config) { cfg.PacketSize = 0x400 })
	var got []byte
	pieces := 0
	for {
		reply := c.send(fmt.Sprintf("qXfer:auxv:read::%x,fff", len(got)))
		p, err := rsp.ParseReply(rsp.XferRead{}, []byte(reply))
		if err != nil {
			t.Fatal(err)
		}
		d, ok := p.(rsp.XferData)
		if !ok || rsp.EscapedSize([]byte(reply)) > 0x400 {
			t.Fatalf("%T of %d bytes", p, rsp.EscapedSize([]byte(reply)))
		}
		got = append(got, d.Data...)
		pieces++
		if d.Last {
			break
		}
	}
	c.calls("Object auxv ") // once
	want, _ := newFake(Caps{}).Object(ThreadID{}, "auxv", "")
	if !bytes.Equal(got, want) || pieces < 5 {
		t.Errorf("%d pieces of %d bytes are not the object of %d bytes", pieces, len(got), len(want))
	}
	xml := string(c.f.desc.XML())
	c.run([]step{
		{send: "qXfer:features:read:target.xml:0,20", want: "m" + xml[:32]},
		{send: "qXfer:features:read:other.xml:0,20", want: "E.there is no description..."},
		{send: "qXfer:threads:read::0,400", want: "l" + string(rsp.ThreadsXML([]rsp.ThreadInfo{{ID: rsp.ThreadID{TID: 100}, Name: "worker", Extra: "the thread 100"}}))},
		{send: "qXfer:libraries-svr4:read::0,400", want: ""},
		{send: "qXfer:osdata:read:nothing:0,400", want: "E.no such table"},
		{send: "qXfer:siginfo:write::0:abc", want: "3"},
		{send: "qXfer:auxv:write::0:abc", want: ""},
	})
	small := newTalk(t, Caps{}, 40, func(cfg *Config) { cfg.PacketSize = 64 })
	list := small.send("qfThreadInfo")
	for {
		next := small.send("qsThreadInfo")
		if next == "l" {
			break
		}
		list += "," + strings.TrimPrefix(next, "m")
		if len(next) > 64 {
			t.Errorf("a packet of %d bytes", len(next))
		}
	}
	if n := strings.Count(list, ",") + 1; n != 40 {
		t.Errorf("%d threads are listed: %s", n, list)
	}
}

func TestFiles(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	open := func(path string) string { return "vFile:open:" + hexOf(path) + ",0,0" }
	c.run([]step{
		{send: "vFile:setfs:0", want: "F0"},
		{send: "vFile:setfs:64", want: "F0"},
		{send: "vFile:setfs:65", want: "F-1,16"},
		{send: open("/none"), want: "F-1,2"},
		{send: open("/long"), want: "F-1,5b"},
		{send: open("/odd"), want: "F-1,270f"},
		{send: open("/hello"), want: "F1"},
		{send: open("/hello"), want: "F2"},
		{send: "vFile:pread:1,100,7", want: "F9;$world}\n#"},
		{send: "vFile:pread:1,3,0", want: "F3;hel"},
		{send: "vFile:pread:1,3,100", want: "F0;"},
		{send: "vFile:pread:9,3,0", want: "F-1,9"},
		{send: "vFile:pwrite:1,0,abc", want: "F3"},
		{send: "vFile:fstat:1", want: "F40;..."},
		{send: "vFile:stat:" + hexOf("/x"), want: "F-1,d"},
		{send: "vFile:lstat:" + hexOf("/x"), want: "F40;..."},
		{send: "vFile:unlink:" + hexOf("/x"), want: "F-1,1e"},
		{send: "vFile:readlink:" + hexOf("/x"), want: "F6;/hello"},
		{send: "vFile:close:1", want: "F0"},
		{send: "vFile:close:1", want: "F-1,9"},
		{send: "vFile:nothing:1", want: ""},
	})
}

func TestSettings(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	c.run([]step{
		{send: "QPassSignals:e;1e;21;3e7;", want: "OK"},
		{send: "QProgramSignals:0;1;", want: "OK"},
		{send: "QCatchSyscalls:1;3b;1", want: "OK"},
		{send: "QThreadEvents:1", want: "OK"},
		{send: "QStartupWithShell:1", want: "OK"},
		{send: "QAgent:1", want: "OK"},
		{send: "qSymbol::", want: "OK"},
		{send: "qOffsets", want: ""},
		{send: "vMustReplyEmpty", want: ""},
		{send: "vUnheardOf", want: ""},
		{send: "r", want: ""},
		{send: "bc", want: ""},
		{send: "F0", want: ""},
		{send: "QThreadEvents:2", want: "E.malformed packet..."},
		{send: "qRcmd," + hexOf("help"), want: "O..."},
		{send: "qRcmd," + hexOf("list"), want: "O" + hexOf("nothing\n") + " OK"},
		{send: "qRcmd," + hexOf("fail"), want: "O" + hexOf("it fails\n") + " E01"},
		{send: "qRcmd," + hexOf("what"), want: "O" + hexOf("Unknown monitor command.\n\n") + " O..."},
		{send: "qRcmd," + hexOf("set debug 1"), want: "O" + hexOf("Debug output enabled.\n") + " OK"},
		{send: "qRcmd," + hexOf("set debug-format all"), want: "O" + hexOf("All extra debug format options enabled.\n") + " OK"},
		{send: "qGetTLSAddr:64,10,2000", want: "2010"},
		{send: "qRcmd," + hexOf("set libthread-db-search-path /nowhere"), want: "O" + hexOf("libthread-db-search-path set to `/nowhere'\n") + " OK"},
		{send: "qGetTLSAddr:64,10,2000", want: "E.libthread_db is not in /nowhere"},
		{send: "vAttach;1388", want: "E.this server neither starts..."},
		{send: "vCont;C2f", want: ""}, // SIG35
		{send: "^C", want: "T02[64]"},
		{send: "vCont;C90", want: "E.signal 144 of GDB is none of Linux"},
		{send: "vCont;t", want: "E.the action t is for non-stop mode"},
		{send: "vCont", want: "E.vCont without an action"},
		{send: "vCont;r5,4", want: "E.the range ends..."},
		{send: "QAllow:WriteReg:0;WriteMem:0;InsertBreak:0;InsertTrace:0;InsertFastTrace:1;Stop:0", want: "OK"},
		{send: "P10=1122334455667788", want: "E.GDB is set not to write registers..."},
		{send: "M400000,1:00", want: "E.GDB is set not to write memory..."},
		{send: "Z0,400000,1", want: "E.GDB is set not to insert breakpoints..."},
		{send: "QTDP:1:400000:E:0:0", want: "E.GDB is set not to insert tracepoints..."},
		{send: "QTDP:1:400000:E:0:0:F5", want: "OK"},
		{send: "c", want: ""},
		{send: "^C", want: ""},
	})
	o := c.f.opts
	if fmt.Sprint(o.PassSignals, o.Syscalls, o.CatchSyscalls, o.ThreadEvents) != "map[10:true 14:true] map[1:true 59:true] true true" {
		t.Errorf("options %+v", o)
	}
	if got := c.event(Event{Kind: EventTooLong}); got != "E.the packet is longer than 16384 bytes" {
		t.Errorf("a packet that is too long: %q", got)
	}
}

// TestConditions: bytecode is looked at before the target gets it.
func TestConditions(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	c.run([]step{
		{send: "Z0,400010,1;X3,220127", want: "OK"},
		{send: "Z0,400010,1;X3,220127X3,220027;cmds:1,X1,27", want: "OK"},
		{send: "Z0,400010,1;X1,27", want: "E.the condition: ..."},
		{send: "Z0,400010,1;X2,2222", want: "E.the condition: ..."},
		{send: "Z0,400010,1;X3,2201", want: "E.malformed..."},
		{send: "Z0,400010,1;cmds:0,X1,02", want: "E.the commands: ..."},
		{send: "Z0,400010,1000000", want: "E.a breakpoint of..."},
	})
	b := c.f.procs[100].breaks[breakKey{100, 0, 0x400010, 1}]
	if len(b.Conditions) != 2 || len(b.Commands) != 1 || !b.Persist {
		t.Errorf("inserted %+v", b)
	}
	// Its commands go on without GDB.
	c.run([]step{{send: "D;64", want: "OK"}, {send: "(gone)", want: ""}})
	c.calls("Resume 100 step=false [0x0,0x0) sig=0")
	if len(c.f.procs[100].breaks) != 1 {
		t.Error("the commands are gone with GDB")
	}
}

func TestKernel(t *testing.T) {
	f := newFake(Caps{Kernel: true})
	f.procs[1] = &fakeProcess{attached: true, memory: []byte{9}}
	f.addThread(ThreadID{1, 1}, true)
	e := &fakeExperiment{size: f.desc.Size, frame: -1}
	c := &talk{t: t, f: f, e: e, m: New(f, e, Config{})}
	c.event(Event{Kind: EventOpened})
	f.threads[0].running = false // the model's rule, not the kernel's
	if got := c.send(gdbFeatures); strings.Contains(got, "QNonStop") || strings.Contains(got, "fork") {
		t.Errorf("the kernel offers %s", got)
	}
	c.run([]step{
		{send: "?", want: "T00[p1.1]"},
		{send: "qAttached:1", want: "1"},
		{send: "qOffsets", want: "Text=1000;Data=1000;Bss=1000"},
		{send: "m400000,1", want: "09"},
		{send: "M400000,1:00", want: "E.the kernel is traced..."},
		{send: "P10=1122334455667788", want: "E.the kernel is traced..."},
		{send: "Z0,400000,1", want: "E.the kernel cannot be stopped..."},
		{send: "vCont?", want: "vCont;c;C"},
		{send: "vCont;s:p1.1", want: "E.the kernel cannot be stepped"},
		{send: "QNonStop:1", want: "E.the kernel has no threads..."},
		{send: "vCont;c:p1.-1", want: ""},
		{send: "^C", want: "T02[p1.1]"},
		{send: "vKill;1", want: "E.there is no such process"},
		{send: "D;1", want: "OK"},
		{send: "(gone)", want: ""},
		{send: "(new)", want: ""},
		{send: "?", want: "T02[1]"},
		{send: "k", want: "!close !exit0"},
	})
	c.calls() // neither resumed nor halted
}

func TestDisabled(t *testing.T) {
	c := newTalk(t, Caps{}, 1, func(cfg *Config) { cfg.Disabled = []string{"threads"} })
	c.run([]step{
		{send: "vCont?", want: ""},
		{send: "vCont;c", want: ""},
		{send: "qC", want: ""},
		{send: "qfThreadInfo", want: ""},
		{send: "?", want: "T05[]"},
		{send: "c", want: ""},
		{send: "^C", want: "T02[]"},
	})
	c = newTalk(t, Caps{}, 1, func(cfg *Config) { cfg.Disabled = []string{"T"} })
	c.run([]step{{send: "?", want: "S05"}, {send: "qC", want: "QC64"}})
}

func TestSignals(t *testing.T) {
	for linux := 1; linux <= 64; linux++ {
		gdb := gdbSignal(linux)
		if linux == 16 {
			if gdb != gdbSignalUnknown {
				t.Errorf("SIGSTKFLT is %d", gdb)
			}
			continue
		}
		if back, ok := linuxSignal(gdb); !ok || back != linux {
			t.Errorf("signal %d is GDB's %d, and that is %d, %v", linux, gdb, back, ok)
		}
	}
	for _, n := range []int{-1, 65, 1000} {
		if gdbSignal(n) != gdbSignalUnknown {
			t.Errorf("signal %d is GDB's %d", n, gdbSignal(n))
		}
	}
	if _, ok := linuxSignal(7); ok {
		t.Error("SIGEMT is none of Linux")
	}
}

// TestPacketTable: each row has one name of its own and says what the packet is for.
func TestPacketTable(t *testing.T) {
	f := newFake(Caps{})
	m := New(f, &fakeExperiment{size: f.desc.Size, frame: -1}, Config{})
	names := map[string]bool{}
	for _, r := range m.packets {
		if r.name == "" || r.what == "" || names[r.name] {
			t.Errorf("the row %q, %q of %v", r.name, r.what, r.packet)
		}
		names[r.name] = true
	}
	if len(names) < 60 {
		t.Errorf("%d packets", len(names))
	}
}
