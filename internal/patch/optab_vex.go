package patch

// The tables of the VEX, EVEX and XOP opcode maps; the notation is that of
// oneByteOps. Maps and mandatory prefixes come from the prefix's own fields.

const vexMap1 = `
10,11 nosd : W
12 nosd : W
13 nom : W
14,15 no : W
16 nos : W
17 nom : W
28,29 no : W
2a sd : Ey
2b nom : W
2c,2d sd : W Gy=
2e,2f no : W f=
41,42,45-47,4a,4b nor : W
44 nor : W
50 nor : W Gy=
51 nosd : W
52,53 ns : W
54-57 no : W
58,59 nosd : W
5a nosd : W
5b nos : W
5c-5f nosd : W
60-6d o : W
6e o : Ey
6f os : W
70 osd : W Ib
71,72 or/246 : W Ib
73 or/2367 : W Ib
74-76 o : W
77 n :
7c,7d od : W
7e o : Ey=
7e s : W
7f os : W
90 no : W
91 nom : W
92 nodr : Ey
93 nodr : W Gy=
98,99 nor : W f=
ae nm/23 : W
c2 nosd : W Ib
c4 o : Ed Ib
c5 or : W Gy= Ib
c6 no : W Ib
d0 od : W
d1-d6 o : W
d7 or : W Gy=
d8-e5 o : W
e6 osd : W
e7 om : W
e8-ef o : W
f0 dm : W
f1-f6 o : W
f7 or : W rdi mem
f8-fe o : W
`

const vexMap2 = `
00-0d o : W
0e,0f o : W f=
13 o : W
16 o : W
17 o : W f=
18,19 o : W
1a om : W
1c-1e o : W
20-25 o : W
28,29,2b o : W
2a om : W
2c-2f om : W
30-41 o : W
45-47 o : W
49 nom/0 : W
49 n=c0 :
49 dr : W
4b osdm : W
50,51 nosd : W
52,53 o : W
58,59 o : W
5a om : W
5c sdr : W
5e nosdr : W
72 s : W
78,79 o : W
8c,8e om : W
90-93 o : Y
96-9f o : W
a6-af o : W
b0 nosdm : W
b1 osm : W
b4,b5 o : W
b6-bf o : W
cb-cd dr : W
cf o : W
d2,d3 nos : W
da nosd : W
db-df o : W
e0-ef om : W ?
f2 n : Gy= By Ey f~
f3 n/123 : By= Ey f~
f5 n : Gy= Ey By f~
f5 sd : Gy= By Ey
f6 d : Gy= By= Ey rdx
f7 n : Gy= Ey By f~
f7 osd : Gy= Ey By
`

const vexMap3 = `
00-02 o : W Ib
04-06 o : W Ib
08-0f o : W Ib
14,15 o : Ed= Ib
16 o : Ey= Ib
17 o : Ed= Ib
18,19,1d o : W Ib
20 o : Ed Ib
21 o : W Ib
22 o : Ey Ib
30-33 or : W Ib
38,39 o : W Ib
40-42,44,46 o : W Ib
48,49,4a-4c o : W Ib
5c-5f o : W Ib
60 o : W Ib rax rdx f=
61 o : W Ib rax rdx rcx= f=
62 o : W Ib f=
63 o : W Ib rcx= f=
68-6f,78-7f o : W Ib
ce,cf o : W Ib
de o : W Ib
df o : W Ib
f0 d : Gy= Ey Ib
`

const evexMap1 = `
10,11 nosd : W
12 nosd : W
13 nom : W
14,15 no : W
16 nos : W
17 nom : W
28,29 no : W
2a sd : Ey
2b nom : W
2c,2d sd : W Gy=
2e,2f no : W f=
51 nosd : W
54-57 no : W
58,59 nosd : W
5a nosd : W
5b nos : W
5c-5f nosd : W
60-6d o : W
6e o : Ey
6f osd : W
70 osd : W Ib
71 o/246 : W Ib
72 o/01246 : W Ib
73 o/2367 : W Ib
74-76 o : W
78,79 no : W
78,79 sd : W Gy=
7a osd : W
7b o : W
7b sd : Ey
7e o : Ey=
7e s : W
7f osd : W
c2 nosd : W Ib
c4 o : Ed Ib
c5 or : W Gy= Ib
c6 no : W Ib
d1-d6 o : W
d8-e5 o : W
e6 osd : W
e7 om : W
e8-ef o : W
f1-f6 o : W
f8-fe o : W
`

const evexMap2 = `
00,04,0b-0d o : W
10-15 os : W
16,18-1b,1c-1f o : W
20-25 os : W
26,27 os : W
28,29 os : W
2a om : W
2a sr : W
2b,2c,2d o : W
30-35 os : W
36,37 o : W
38-3a os : W
3b-3f,40,42-47 o : W
4c-4f o : W
50,51 o : W
52 os : W
52,53 dm : W
53 o : W
54,55,58,59 o : W
5a,5b om : W
62-66 o : W
68 d : W
70,71,73 o : W
72 osd : W
75-79 o : W
7a,7b or : Ed
7c or : Ey
7d-7f,83 o : W
88-8b,8d,8f o : W
90-93 om : Y
96-9f o : W
9a,9b dm : W
a0-a3 om : Y
a6-af o : W
aa,ab dm : W
b4-bf o : W
c4 o : W
c6,c7 om/1256 : Y
c8,ca-cd,cf o : W
dc-df o : W
`

const evexMap3 = `
00,01,03-05 o : W Ib
08,0a no : W Ib
09,0b,0f o : W Ib
14,15 o : Ed= Ib
16 o : Ey= Ib
17 o : Ed= Ib
18-1b,1d-1f o : W Ib
20 o : Ed Ib
21 o : W Ib
22 o : Ey Ib
23,25 o : W Ib
26,27 no : W Ib
38-3b,3e,3f o : W Ib
42-44,50,51,54,55 o : W Ib
56,57,66,67 no : W Ib
70-73 o : W Ib
c2 ns : W Ib
ce,cf o : W Ib
`

// The maps of AVX512-FP16.
const evexMap5 = `
10,11 s : W
1d no : W
2a s : Ey
2c,2d s : W Gy=
2e,2f n : W f=
51,58,59 ns : W
5a nosd : W
5b no : W
5b s : W
5c-5f ns : W
6e o : Ed
78,79 no : W
78,79 s : W Gy=
7a od : W
7b o : W
7b s : Ey
7c no : W
7d nosd : W
7e o : Ed=
`

const evexMap6 = `
13 no : W
2c,2d,42,43,4c-4f o : W
56,57 sd : W
96-9f,a6-af,b6-bf o : W
d6,d7 sd : W
`

const xopMap8 = `
85-87,8e,8f,95-97,9e,9f,a2,a3,a6,b6,c0-c3,cc-cf,ec-ef n : W Ib
`

const xopMap9 = `
01 n/1234567 : By= Ey f~
02 n/16 : By= Ey f~
12 nr/01 : Ey ?
80-83,90-9b,c1-c3,c6,c7,cb,d1-d3,d6,d7,db,e1-e3 n : W
`

const xopMap10 = `
10 n : Gy= Ey Id f~
12 n/01 : Ed Id ?
`
