extern int forms(void);
int main(void) { return forms(); }
