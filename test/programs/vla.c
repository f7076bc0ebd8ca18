/* Arrays of variable length and flexible members; check prints their values. */
#include <stdio.h>

struct packet {
	int n;
	char data[];
};
static struct packet packet = {3, "abc"};

__attribute__((noinline)) int check(int n, struct packet *p)
{
	int a[n];
	char text[n * 2];
	short rows[n][3];
	for (int i = 0; i < n; i++) {
		a[i] = i * i;
		text[i] = 'a' + i;
		text[n + i] = 'A' + i;
		for (int k = 0; k < 3; k++)
			rows[i][k] = i * 10 + k;
	}
	printf("%d %d %d %s\n", (int)sizeof a, (int)sizeof text, (int)sizeof rows, p->data);
	int r = 0;
	for (int i = 0; i < n; i++)
		printf("%d %.*s %d %d %d\n", a[i], 2 * n, text, rows[i][0], rows[i][1], rows[i][2]);
	r = a[n - 1] + text[0] + rows[n - 1][2]; /* here */
	__asm__ volatile("" : : "r"(a), "r"(text), "r"(rows) : "memory");
	return r + n + p->n;
}

int main(void)
{
	int r = 0;
	for (int n = 1; n < 6; n++)
		r += check(n, &packet);
	r += check(250, &packet);
	return r == 0;
}
