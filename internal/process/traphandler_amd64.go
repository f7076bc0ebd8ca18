package process

// trapHandlerCode is the SIGTRAP handler of an orphaned process. While jalon
// lives it is the tracer, sees the SIGTRAP of an int3 first, moves the thread and
// suppresses the signal. When jalon is dead the signal would end the program.
// This handler finds the site in the table behind itself and moves the saved pc
// to the trampoline, which sees the dead man's switch and falls through.
// Everything else goes to the action that the program had. It calls nothing of
// the program and needs no stack but its frame. Source: testdata/traphandler.S.
const trapHandlerCode = "" +
	"817e0880000000" + // handler: cmpl $0x80,0x8(%rsi)
	"7554" + // jne 5d <chain>
	"488b82a8000000" + // mov 0xa8(%rdx),%rax
	"48ffc8" + // dec %rax
	"4c8d05de000000" + // lea 0xde(%rip),%r8 # f8 <data>
	"498b4810" + // mov 0x10(%r8),%rcx
	"4d8d4818" + // lea 0x18(%r8),%r9
	"4531d2" + // xor %r10d,%r10d
	"4939ca" + // search: cmp %rcx,%r10
	"7333" + // jae 5d <chain>
	"4d8d1c0a" + // lea (%r10,%rcx,1),%r11
	"49d1eb" + // shr %r11
	"49c1e304" + // shl $0x4,%r11
	"4b390419" + // cmp %rax,(%r9,%r11,1)
	"7415" + // je 50 <found>
	"7209" + // jb 46 <right>
	"49c1eb04" + // shr $0x4,%r11
	"4c89d9" + // mov %r11,%rcx
	"ebdf" + // jmp 25 <search>
	"49c1eb04" + // right: shr $0x4,%r11
	"4d8d5301" + // lea 0x1(%r11),%r10
	"ebd5" + // jmp 25 <search>
	"4b8b441908" + // found: mov 0x8(%r9,%r11,1),%rax
	"488982a8000000" + // mov %rax,0xa8(%rdx)
	"c3" + // ret
	"4c8d0594000000" + // chain: lea 0x94(%rip),%r8 # f8 <data>
	"498b00" + // mov (%r8),%rax
	"4883f801" + // cmp $0x1,%rax
	"7224" + // jb 91 <default>
	"740c" + // je 7b <ignore>
	"41f7400800000080" + // testl $0x80000000,0x8(%r8)
	"7509" + // jne 82 <reset>
	"ffe0" + // jmp *%rax
	"837e0800" + // ignore: cmpl $0x0,0x8(%rsi)
	"7f10" + // jg 91 <default>
	"c3" + // ret
	"57" + // reset: push %rdi
	"56" + // push %rsi
	"52" + // push %rdx
	"50" + // push %rax
	"e82b000000" + // call b6 <todfl>
	"58" + // pop %rax
	"5a" + // pop %rdx
	"5e" + // pop %rsi
	"5f" + // pop %rdi
	"ffe0" + // jmp *%rax
	"e820000000" + // default: call b6 <todfl>
	"b827000000" + // mov $0x27,%eax
	"0f05" + // syscall
	"50" + // push %rax
	"b8ba000000" + // mov $0xba,%eax
	"0f05" + // syscall
	"4889c6" + // mov %rax,%rsi
	"5f" + // pop %rdi
	"ba05000000" + // mov $0x5,%edx
	"b8ea000000" + // mov $0xea,%eax
	"0f05" + // syscall
	"c3" + // ret
	"4883ec28" + // todfl: sub $0x28,%rsp
	"31c0" + // xor %eax,%eax
	"48890424" + // mov %rax,(%rsp)
	"4889442408" + // mov %rax,0x8(%rsp)
	"4889442410" + // mov %rax,0x10(%rsp)
	"4889442418" + // mov %rax,0x18(%rsp)
	"bf05000000" + // mov $0x5,%edi
	"4889e6" + // mov %rsp,%rsi
	"31d2" + // xor %edx,%edx
	"41ba08000000" + // mov $0x8,%r10d
	"b80d000000" + // mov $0xd,%eax
	"0f05" + // syscall
	"4883c428" + // add $0x28,%rsp
	"c3" + // ret
	"48c7c00f000000" + // restorer: mov $0xf,%rax; unwinders and debuggers know these two instructions
	"0f05" + // syscall
	"0f1f4000" // nopl 0x0(%rax)

const (
	trapReturn   = 0x5c // of the code above: a ret
	trapChain    = 0x5d // of the code above: the signal is not for one of the sites
	trapRestorer = 0xeb // of the code above: the handler returns to it
	trapData     = 0xf8 // {u64 handler, flags, count} and then the sites, sorted
)
