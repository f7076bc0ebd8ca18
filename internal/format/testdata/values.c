/* Globals of all kinds; GDB prints each, and so do we, from the same bytes. */
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uchar.h>
#include <wchar.h>

/* integers */
char c_a = 'a', c_nl = '\n', c_nul, c_neg = -1, c_quote = '\'', c_dq = '"', c_bs = '\\', c_del = 127, c_esc = 27, c_bell = 7;
signed char sc = -5;
unsigned char uc = 200;
short s_neg = -300;
unsigned short us = 65535;
int i_zero, i_one = 1, i_neg = -42, i_big = 2147483647, i_min = -2147483647 - 1, i_A = 65, i_353 = 353, i_h = 1065353216;
unsigned u_big = 4294967295u, u_one = 1;
long l_neg = -123456789012345, l_min = (-9223372036854775807L - 1), l_dbl = 4607182418800017408;
unsigned long ul_big = 18446744073709551615ul, ul_mid = 0x8000000000000000ul;
long long ll = -7;
unsigned long long ull = 7;
__int128 i128 = 5, i128_neg = -5, i128_big = ((__int128)1 << 100) + 12345;
unsigned __int128 u128 = ~(unsigned __int128)0;
int8_t i8 = -3; uint8_t u8 = 66; int16_t i16 = -2; uint32_t u32 = 77; int64_t i64 = -1; uint64_t u64 = 99; size_t sz = 1234;
const int ci = 5; volatile int vi = 6; _Atomic int ai = 7;
typedef unsigned long my_ulong; my_ulong mul = 3;
_Bool b_true = 1, b_false = 0; bool b_arr[3] = {1, 0, 1};
wchar_t wc = L'a', wc_uni = 0x20ac, wc_nl = L'\n'; char16_t c16 = u'b', c16_uni = 0x20ac; char32_t c32 = U'c', c32_uni = 0x1f600;

/* floats */
float f_one = 1, f_tenth = 0.1f, f_neg = -1.5f, f_big = 3.4e38f, f_small = 1.4e-45f, f_inf = __builtin_inff(), f_ninf = -__builtin_inff(), f_nan = __builtin_nanf(""), f_nan2 = __builtin_nanf("0x123");
double d_zero, d_nzero = -0.0, d_one = 1, d_tenth = 0.1, d_pi = 3.14159265358979323846, d_big = 1.7976931348623157e308, d_small = 4.9e-324, d_inf = __builtin_inf(), d_ninf = -__builtin_inf(), d_nan = __builtin_nan(""), d_nnan = -__builtin_nan("5"), d_million = 1e6, d_1e16 = 1e16, d_1e17 = 1e17, d_1e22 = 1e22, d_1em5 = 1e-5, d_1em4 = 1e-4, d_neg = -2.75, d_huge = 1e30, d_65 = 65.9;
long double ld_one = 1, ld_tenth = 0.1L, ld_pi = 3.14159265358979323846264338327950288L, ld_big = 1e4000L, ld_neg = -1.25L, ld_inf = __builtin_infl(), ld_nan = __builtin_nanl(""), ld_zero, ld_den = 3.6e-4951L, ld_nzero = -0.0L, ld_65 = 65.5L;
__float128 f128_one = 1, f128_tenth = 0.1Q, f128_neg = -1e1000Q;
#ifndef __clang__
_Float16 f16 = 1.5f16;
#endif
float _Complex fc = 1.5f + 2.5fi; double _Complex dc = 1 - 2i; long double _Complex ldc = 0.5L + 3.25Li;

/* enums */
enum color { RED, GREEN = 5, BLUE } e_red, e_green = GREEN, e_unknown = 77;
enum flags { FA = 1, FB = 2, FC = 4, FD = 0x100 } fl_0, fl_a = FA, fl_ab = FA | FB, fl_all = FA | FB | FC | FD, fl_unk = FA | 8, fl_only = 0x40, fl_big = 0x7fffff00;
enum zflags { Z0, Z1 = 1, Z2 = 2, Z4 = 4 } zf_0, zf_3 = 3, zf_8 = 8;
enum multi { M1 = 1, M2 = 2, M6 = 6, M8 = 8 } mu_3 = 3, mu_6 = 6, mu_14 = 14, mu_16 = 16, mu_4 = 4, mu_7 = 7;
enum mbit { MB1 = 1, MB6 = 6, MB8 = 8 } mb_15 = 15, mb_7 = 7, mb_2 = 2, mb_6 = 6, mb_3 = 3, mb_18 = 18;
enum sparse { S1 = 1, S5 = 5, S8 = 8 } sp_9 = 9;
enum neg { N1 = -1, N2 = 2 } ne_m1 = N1, ne_3 = 3, ne_2 = N2, ne_m5 = -5;
enum wide { W1 = 1, WBIG = 0x100000000000ul } w_big = WBIG, w_both = 0x100000000001ul;
enum dupl { D1 = 1, D1B = 1, D2 = 2 } du_1 = 1, du_3 = 3;
enum { ANON_A, ANON_B } e_anon = ANON_B;
enum color e_arr[4] = {RED, GREEN, BLUE, 9};
typedef enum { TE_X = 3, TE_Y } te_t; te_t te = TE_Y;
enum packed { PK1, PK2 } __attribute__((packed)) e_packed = PK2;

/* structures */
struct point { int x, y; } pt = {1, -2}, pts[3] = {{1, 2}, {3, 4}, {5, 6}}, pts_same[20], *pt_ptr = &pt, *pt_null;
struct nested { int a; struct point p; char name[8]; const char *str; double d; struct { int in1, in2; }; union { int u1; float u2; }; struct { char z; } named; } nst = {1, {2, 3}, "abc", "hello", 1.5, {7, 8}, {9}, {'z'}};
struct bits { unsigned a : 3; int b : 5; unsigned : 4; unsigned long c : 40; _Bool d : 1; enum color e : 4; signed char f : 3; char g : 7; } bts = {5, -3, 0x123456789a, 1, GREEN, -2, 'x'}, bts_neg = {7, -1, 0xffffffffff, 0, BLUE, -1, 'a'};
struct flagbits { enum flags f : 10; enum zflags z : 2; } flb = {FA | FD, 3};
struct empty {} emp, emp_arr[2];
struct holds_empty { struct empty e; int x; struct empty arr[2]; } hem;
struct flex { int n; int data[]; } flx = {3};
struct flexc { int n; char data[]; } flxc = {4};
struct zero { int n; int data[0]; } zer = {3};
struct chars { char a[4]; unsigned char b[4]; signed char c[4]; int8_t d[4]; char e[1]; char f[0]; char m[2][4]; } chs = {"abcd", {1, 2, 3, 4}, {-1, -2, -3, 4}, {65, 66, 67, 0}, "x", {}, {"one", "two"}};
struct list { struct list *next; int v; } lst2 = {0, 2}, lst = {&lst2, 1};
struct ptrs { int *ip; char *cp; const char *ccp; unsigned char *ucp; void *vp; int (*fp)(int); struct point *sp; int **ipp; char **cpp; void (*nullf)(void); int (*arrp)[3]; wchar_t *wp; };
union un { int i; float f; char c[4]; struct point p; } u_1 = {.i = 0x3f800000}, u_arr[2] = {{1}, {2}};
struct deep { struct { struct { struct { int x; } c; } b; } a; } dp = {{{{4}}}};
struct incomplete; struct incomplete *inc_ptr = (struct incomplete *)0x1234;
struct manypts { struct point p[15]; int z[12]; char pad[30]; } many = {.p[3] = {1, 1}, .z[11] = 1};
struct __attribute__((packed)) pack { char c; int i; short s; } pck = {'p', -1, 2};
struct floats { float f; double d; long double l; float _Complex c; float fa[3]; } flts = {1.5f, 2.5, 3.5L, 1.0f + 1.0fi, {0.1f, 0.2f, 0.3f}};
struct bools { _Bool a, b; _Bool arr[12]; } bls = {1, 0, {1, 1}};
struct { int anon_tag; } untagged = {3}, *untagged_ptr = &untagged;
typedef struct { int t; } tstruct; tstruct tst = {8}, *tst_ptr = &tst;
typedef struct point point_t; point_t ptt = {3, 4}, *ptt_ptr = &ptt; const point_t cptt = {5, 6}; const point_t *cptt_ptr = &cptt;

/* arrays */
int ia[5] = {1, 2, 3, 4, 5}, ia_zero[20], ia_rep[30] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, ia9[9], ia10[10], ia11[11], ia_long[300] = {[0] = 1, [100] = 2, [299] = 3};
int ia_one[1] = {7};
int ia2[2][3] = {{1, 2, 3}, {4, 5, 6}}, ia2_same[20][2], ia3[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, ia2_big[12][30] = {[3][4] = 1, [5][29] = 2};
short sa_distinct[250] = {
#define T(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9
	T(0), T(10), T(20), T(30), T(40), T(50), T(60), T(70), T(80), T(90), T(100), T(110), T(120), T(130), T(140), T(150), T(160), T(170), T(180), T(190), T(200), T(210), T(220), T(230), T(240)
};
int ia_201[201] = { T(0), T(10), T(20), T(30), T(40), T(50), T(60), T(70), T(80), T(90), T(100), T(110), T(120), T(130), T(140), T(150), T(160), T(170), T(180), T(190), 200 };
int ia2_wide[3][150] = {{T(0), T(10), T(20), T(30), T(40), T(50), T(60), T(70), T(80), T(90), T(100), T(110), T(120), T(130), T(140)}, {T(0), T(10), T(20), T(30), T(40), T(50), T(60), T(70), T(80), T(90), T(100), T(110), T(120), T(130), T(140)}, {T(0), T(10), T(20), T(30), T(40), T(50), T(60), T(70), T(80), T(90), T(100), T(110), T(120), T(130), T(149)}};
double da[3] = {0.5, 1e100, -0.0}; long double lda[2] = {1.5L, 2}; float fa_rep[12];
long la[3] = {-1, 0, 1}; unsigned char uca[6] = {0, 1, 127, 128, 255, 65}; signed char sca[3] = {-1, 0, 1}; uint8_t u8a[16] = {1, 2, 3, [15] = 9};
char *strs[3] = {"one", "two", 0}; const char *cstrs[12] = {"same"}; void *vpa[2] = {&pt, (void *)0x10};
int *ipa[3] = {&ia[0], &ia[2], 0}; int ia_neg1[3] = {-1, -1, -1};
_Bool ba[20];

/* strings */
char str[] = "hello", str_pad[16] = "abc", str_pad8[8] = "abc", str_full[4] = {'a', 'b', 'c', 'd'}, str_empty[1] = "", str_zero[30], str_one[1] = {'q'};
char str_rep[] = "aaaaaaaaaaaaaaaaaaaab", str_rep2[] = "xyaaaaaaaaaaaaaaaaaaaabbz", str_rep3[] = "aaaaaaaaaaaaaaabbbbbbbbbbbbbbbb", str_rep10[] = "aaaaaaaaaa", str_rep11[] = "aaaaaaaaaaa", str_mid[] = "ab\0cd", str_esc[] = "a\"b'c\\d\n\t\a\b\f\v\r\033[0m\177", str_oct[] = "\001" "2\0013\001x", str_hi[] = "caf\303\251 \377\376", str_utf[] = "\342\202\254uro", str_bad[] = "ok\200\201ok", str_cut[] = "ab\342\202";
char str_200[201] = "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
char str_201[] = "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890";
char str_300[] = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890";
char str_zeros[500], str_rep300[] = "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz9";
char str2[3][4] = {"ab", "cde", "fghi"}, str2_same[15][3];
unsigned char ustr[] = "unsigned"; signed char sstr[] = "signed"; const char cstr[] = "const"; volatile char vstr[4] = "vol";
wchar_t wstr[] = L"wide", wstr_uni[] = L"\u20acuro", wstr_pad[8] = L"ab"; char16_t c16str[] = u"sixteen"; char32_t c32str[] = U"thirty-two"; char16_t c16pair[] = {0xd83d, 0xde00, 0};
char nulls_mid[32] = "ab\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0cd";
char digits_after[] = "\0" "1" "\0" "9" "\033" "4" "\n" "5";
char trail[] = {'a', 0, 0, 0}, trail2[] = {0, 0, 'a', 0, 0};

/* pointers */
static int handler(int x) { return x + 1; }
int other(char *a, const struct point *b, ...) { return *a + b->x; }
int *ip = &ia[1], *ip_null; const int *cip = &ci; int **ipp = &ip; void *vp = &pt, *vp_null, *vp_low = (void *)0x10, *vp_neg = (void *)-1;
char *cp = str, *cp_null; const char *ccp = "literal", *ccp_arr[2] = {"p", "q"}; char *const cpc = str; unsigned char *ucp = ustr; signed char *scp = sstr; uint8_t *u8p = ustr; volatile char *vcp = vstr;
int (*fp)(int) = handler, (*fp_null)(int), (*fp2)(char *, const struct point *, ...) = other, (*fp_arr[2])(int) = {handler, 0}; void (*fp_void)(void); int (*fp_old)() = 0;
int (*arrp)[5] = &ia, (*arr2p)[3] = ia2; struct list *lstp = &lst; union un *unp = &u_1; enum color *ep = &e_red;
int (*(*fp_ret)(int))(char); int *(*fp_ptr)(void); int (**fpp)(int) = &fp; long double *ldp = &ld_one; _Bool *bp = &b_true; char **cpp = strs; const char *const *ccpp = ccp_arr; char (*carrp)[6] = &str; int *volatile ivp; int *restrict_ptr; unsigned long *ulp; long long *llp; __int128 *i128p = &i128;
typedef int (*handler_t)(int); handler_t hnd = handler; typedef char *string_t; string_t tstr = str; typedef char mychar; mychar mc = 'm', mca[4] = "mch", *mcp = mca; typedef int ints[3]; ints tints = {1, 2, 3}; typedef const char *cstring; cstring csx = "csx";
struct ptrs ps = {&ia[0], str, "ccp", ustr, &pt, handler, &pt, &ip, strs, 0, (int (*)[3]) & ia, wstr};
wchar_t *wp = wstr; double *dptr = &d_one; float *fptr; short *sptr; struct untag2 { int z; } *ut2; void **vpp = &vp; int (*fp_struct)(struct point, union un, enum color); void *(*fp_cb)(void *(*)(int), const volatile int *);
ptrdiff_t pd = -8; uintptr_t uip = (uintptr_t)0x401000;

unsigned long long *ullp; unsigned short *usp; unsigned __int128 *u128p; long *lp; char16_t *c16p; char32_t *const c32p; const wchar_t *cwp; short (*sarrp)[2]; unsigned *up; long double _Complex *ldcp; uint64_t *u64p; const char *const ccpc = "x"; const volatile char *cvcp; volatile int *const volatile vcvp;
int (*const fp_const)(int) = handler; int *const ipc = &ia[2]; void (*(*fp_fp)(void))(int); const struct point *const *cpcpp; struct point (*pt_arrp)[3] = &pts; union un **unpp; enum color **epp; te_t *tep; enum flags *flp; float _Complex *fcp; int (*(*arr_of_fp)[3])(int);

/* vectors */
typedef int v4si __attribute__((vector_size(16))); v4si v4 = {1, 2, 3, 4}, v4_same = {5, 5, 5, 5}; typedef float v8sf __attribute__((vector_size(32))); v8sf v8 = {1.5f, 2.5f}; typedef char v16qi __attribute__((vector_size(16))); v16qi v16 = {'a', 'b', 'c'}; typedef unsigned char v16qu __attribute__((vector_size(16))); v16qu v16u = {1, 2, 3};
struct hasvec { v4si v; int x; } hv = {{1, 2, 3, 4}, 5};

int main(void) { return handler(0) + (fp_null == 0); }
