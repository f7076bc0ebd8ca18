package patch

// The opcode tables. A line is
//
//	OPCODES [CONDITIONS] : OPERANDS EFFECTS
//
// OPCODES is a list of opcodes and ranges. CONDITIONS, all of which must hold, are
//
//	n o s d   which mandatory prefixes are meant: none, 66, F3, F2 (default any)
//	/0123     the reg field of ModRM is one of the digits
//	m r       the operand of ModRM is memory, a register
//	=f8       the ModRM byte is exactly this
//
// OPERANDS are letters as in appendix A of the manuals: E (ModRM.rm, a general
// register or memory), G (ModRM.reg), B (VEX.vvvv), Z (low bits of the opcode),
// A and D (the accumulator and rdx), W (ModRM.rm, a vector or memory), L (ModRM,
// memory that is not accessed), Y (VSIB memory), O (absolute memory), I
// (immediate), J (branch displacement), followed by a size: b w d q; v (16, 32,
// 64 by operand size), y (32, 64), z (immediate of 16 or 32), s (stack: 16 or 64).
// A suffix = is a write, + a read and write, none a read. Vector, mask, x87 and
// segment registers are not named. Names of registers are implicit operands,
// "rep" the effect of a repeat prefix. Flags: "f" read, "f=" overwritten, "f+"
// both, "f~" written in part (same as nothing, for the reader), "fi" a shift by
// an immediate. "?" effects unknown. "@name" the class.
const oneByteOps = `
00,08,20,28,30 : Eb+ Gb f=
01,09,21,29,31 : Ev+ Gv f=
02,0a,22,2a,32 : Gb+ Eb f=
03,0b,23,2b,33 : Gv+ Ev f=
04,0c,24,2c,34 : Ab+ Ib f=
05,0d,25,2d,35 : Av+ Iz f=
10,18 : Eb+ Gb f+
11,19 : Ev+ Gv f+
12,1a : Gb+ Eb f+
13,1b : Gv+ Ev f+
14,1c : Ab+ Ib f+
15,1d : Av+ Iz f+
38 : Eb Gb f=
39 : Ev Gv f=
3a : Gb Eb f=
3b : Gv Ev f=
3c : Ab Ib f=
3d : Av Iz f=
50-57 : Zs stack
58-5f : Zs= stack
63 : Gv= Ed
68 : Iz stack
69 : Gv= Ev Iz f~
6a : Ib stack
6b : Gv= Ev Ib f~
6c-6f : ?
70-7f : Jb f @jcc
80 /01456 : Eb+ Ib f=
80 /23 : Eb+ Ib f+
80 /7 : Eb Ib f=
81 /01456 : Ev+ Iz f=
81 /23 : Ev+ Iz f+
81 /7 : Ev Iz f=
83 /01456 : Ev+ Ib f=
83 /23 : Ev+ Ib f+
83 /7 : Ev Ib f=
84 : Eb Gb f=
85 : Ev Gv f=
86 : Eb+ Gb+
87 : Ev+ Gv+
88 : Eb= Gb
89 : Ev= Gv
8a : Gb= Eb
8b : Gv= Ev
8c /012345 : Ev+
8d m : Gv= L
8e /02345 : Ew ?
8f /0 : Es= stack
90-97 : Zv+ Av+
98 : Av+
99 : Dv= Av
9b :
9c : f stack
9d : f= stack
9e : rax f~
9f : rax+ f
a0 : Ab= O
a1 : Av= O
a2 : Ab O
a3 : Av O
a4,a5 : rsi+ rdi+ rep mem
a6,a7 : rsi+ rdi+ rep mem f~
a8 : Ab Ib f=
a9 : Av Iz f=
aa,ab : rax rdi+ rep mem
ac,ad : rax+ rsi+ rep mem
ae,af : rax rdi+ rep mem f~
b0-b7 : Zb= Ib
b8-bf : Zv= Iv
c0 /014567 : Eb+ Ib fi
c0 /23 : Eb+ Ib f
c1 /014567 : Ev+ Ib fi
c1 /23 : Ev+ Ib f
c2 : Iw stack @ret
c3 : stack @ret
c6 /0 : Eb= Ib
c6 =f8 : Ib ?
c7 /0 : Ev= Iz
c7 =f8 : Jz @xbegin
c8 : Iw Ib rbp+ stack
c9 : rbp+ rsp= mem
ca : Iw @far
cb : @far
cc : @int3
cd : Ib @syscall
cf : @far
d0 /014567 : Eb+ fi
d0 /23 : Eb+ f
d1 /014567 : Ev+ fi
d1 /23 : Ev+ f
d2 /014567 : Eb+ rcx f~
d2 /23 : Eb+ rcx f
d3 /014567 : Ev+ rcx f~
d3 /23 : Ev+ rcx f
d7 : rax+ rbx mem
d8 : W
d9 m/0234567 : W
d9 r/01 : W
d9 =d0 : W
d9 =e0,e1,e4,e5,e8,e9,ea,eb,ec,ed,ee : W
d9 =f0,f1,f2,f3,f4,f5,f6,f7,f8,f9,fa,fb,fc,fd,fe,ff : W
da m : W
da r/0123 : W f
da =e9 : W
db m/012357 : W
db r/0123 : W f
db r/56 : W f~
db =e2,e3 : W
dc m : W
dc r/014567 : W
dd m/0123467 : W
dd r/02345 : W
de m : W
de r/014567 : W
de =d9 : W
df m : W
df r/0 : W
df =e0 : W rax+
df r/56 : W f~
e0-e2 : Jb rcx+ @loop
e3 : Jb rcx @loop
e4-e7 : Ib ?
e8 : Jz @call
e9 : Jz @jmp
eb : Jb @jmp
ec-ef : ?
f1 : @trap
f4 : @trap
f5 : f
f8,f9 : f~
fa,fb : ?
fc,fd :
f6 /01 : Eb Ib f=
f6 /2 : Eb+
f6 /3 : Eb+ f=
f6 /45 : rax+ Eb f~
f6 /67 : rax+ Eb f~ mem
f7 /01 : Ev Iz f=
f7 /2 : Ev+
f7 /3 : Ev+ f=
f7 /45 : Av+ Dv= Ev f~
f7 /67 : Av+ Dv+ Ev f~ mem
fe /01 : Eb+ f~
ff /01 : Ev+ f~
ff /2 : Es @callind
ff /4 : Es @jmpind
ff m/35 : L @far
ff /6 : Es stack
`

const twoByteOps = `
00 /01 : Ev+
00 /23 : Ew ?
00 /45 : Ew f~
01 m/01 : W
01 m/4 : Ev+
01 r/4 : Ev+
01 m/23567 : W ?
01 r/6 : Ew ?
01 =d0 : rcx rax= rdx=
01 =f9 : rax= rdx= rcx=
01 =d5 :
01 =d6 : f=
01 =ee : rcx rax= rdx=
01 =ef : rcx rax rdx
01 =fc : rax mem
01 =c1,c2,c3,c4,c8,c9,ca,cb,cf,d1,d4,d8,d9,da,db,dc,dd,de,df,f8,fa,fb,fd : ?
01 =d7 : @far
01 nsd=e8 : ?
01 s=ea,ec,ed,ee,ef : ?
01 d=e9 : ?
02,03 : Gv+ Ew f~
05 : @syscall
06,08,09 : ?
07 : @far
0b : @trap
0d m : L
0e :
10,11 nosd : W
12 nosd : W
13 nom : W
14,15 no : W
16 nos : W
17 nom : W
18 : L
19,1c,1d : L
1a,1b : Eq ?
1e s=fa,fb :
1e sr/1 : Ey+
1e : L
1f : L @nop
20-23 r : ?
28,29 no : W
2a no : W
2a sd : Ey
2b nom : W
2c,2d no : W
2c,2d sd : W Gy=
2e,2f no : W f=
30,32 : ?
31 : rax= rdx=
33 : rcx rax= rdx=
34,35 : @far
40-4f : Gv+ Ev f
50 nor : W Gy=
51 nosd : W
52,53 ns : W
54-57 no : W
58,59 nosd : W
5a nosd : W
5b nos : W
5c-5f nosd : W
60-6b no : W
6c,6d o : W
6e no : Ey
6f nos : W
70 nosd : W Ib
71,72 nor/246 : W Ib
73 nor/26 : W Ib
73 or/37 : W Ib
74-76 no : W
77 n :
78 or/0 : W Iw
78 dr : W Iw
79 or : W
79 dr : W
78,79 n : Eq Gq ?
7c,7d od : W
7e no : Ey=
7e s : W
7f nos : W
80-8f : Jz f @jcc
90-9f : Eb= f
a0,a8 : stack
a1,a9 : stack ?
a2 : rax+ rcx+ rbx= rdx=
a3 : Ev Gv f~
a4,ac : Ev+ Gv Ib f~
a5,ad : Ev+ Gv rcx f~
aa : @far
ab,b3,bb : Ev+ Gv f~
ae nm/0123 : W
ae nm/456 : W rax rdx
ae nm/7 : W
ae om/67 : W
ae sm/6 : W ?
ae s/4 : Ey
ae nr/567 : W
ae sr/01 : Ey=
ae sr/23 : Ey
ae sr/5 : Ey
ae sr/6 : Eq ?
ae or/6 : Ed rax rdx f~
ae dr/6 : Ed rax rdx f~
af : Gv+ Ev f~
b0 : Eb+ Gb rax+ f=
b1 : Ev+ Gv rax+ f=
b2,b4,b5 m : L ?
b6 : Gv= Eb
b7 : Gv= Ew
b8 s : Gv= Ev f=
b9 : W @trap
ba /4 : Ev Ib f~
ba /567 : Ev+ Ib f~
bc,bd nos : Gv+ Ev f~
be : Gv= Eb
bf : Gv= Ew
c0 : Eb+ Gb+ f=
c1 : Ev+ Gv+ f=
c2 nosd : W Ib
c3 nm : Ey= Gy
c4 no : Ed Ib
c5 nor : W Gy= Ib
c6 no : W Ib
c7 m/1 : W rax+ rdx+ rbx rcx f~
c7 m/345 : W rax rdx
c7 m/67 : W ?
c7 nor/6 : Ev= f=
c7 nor/7 : Ev= f=
c7 sr/6 : Eq ?
c7 sr/7 : Eq=
c8-cf : Zy+
d0 od : W
d1-d5 no : W
d6 o : W
d6 sdr : W
d7 nor : W Gy=
d8-e5 no : W
e6 osd : W
e7 nom : W
e8-ef no : W
f0 dm : W
f1-f6 no : W
f7 nor : W rdi mem
f8-fe no : W
ff : W @trap
`

const ops0F38 = `
00-0b no : W
10,14,15 o : W
17 o : W f=
1c-1e no : W
20-25 o : W
28,29,2b o : W
2a om : W
30-35 o : W
37-41 o : W
80-82 om : W ?
c8-cd n : W
cf o : W
d8 s : W ?
db-df o : W
dc-df s : W ?
f0 nom : Gv= Ev
f1 nom : Ev= Gv
f0 d : Gy+ Eb
f1 d : Gy+ Ev
f5 om : Ey= Gy ?
f6 nm : Ey= Gy ?
f6 o : Gy+ Ey f
f6 s : Gy+ Ey f
f8 om : W Gq mem
f8 sdm : W ?
f9 nm : Ey= Gy
fc nosdm : Ey+ Gy
`

const ops0F3A = `
08-0e o : W Ib
0f no : W Ib
14,15 o : Ed= Ib
16 o : Ey= Ib
17 o : Ed= Ib
20 o : Ed Ib
21 o : W Ib
22 o : Ey Ib
40-42 o : W Ib
44 o : W Ib
60 o : W Ib rax rdx f=
61 o : W Ib rax rdx rcx= f=
62 o : W Ib f=
63 o : W Ib rcx= f=
cc n : W Ib
ce,cf o : W Ib
df o : W Ib
`
