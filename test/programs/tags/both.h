struct same { int x; char y[3]; struct same *next; };
typedef struct same same_t;
enum { AGREED = 5 };
