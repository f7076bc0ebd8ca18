int fa(void *), fb(void *);
struct node;
struct node *opaque;
__attribute__((noinline)) int fc(void *p)
{
	__asm__ volatile("" : : "g"(p) : "memory");
	opaque = p;
	return fa(p) + fb(p);
}
int main(void)
{
	static long memory[4] = { 7, 0, 9 };
	return fc(memory) == 0;
}
