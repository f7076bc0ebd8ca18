/* Arrays whose rows have a size that is computed: variables, parameters, pointers, types. */
#include <stdio.h>

struct point { int x; short y; };
typedef int four[4];

#define USED(a) __asm__ volatile("" : : "r"(a) : "memory")

__attribute__((noinline)) int check(int n, int m, int param[n][m])
{
	int v[n][m];
	struct point points[n][m];
	int first[3][m];
	int last[n][4];
	four fours[n][m];
	long cube[n][2][m];
	char text[n][m];
	double single[n];
	int (*rows)[m] = v + 1;
	int (*whole)[n][m] = &v;
	int empty[n][m - m];
	typedef short row[m];
	row typed[2];
	for (int i = 0; i < n; i++) {
		single[i] = i + 0.5;
		for (int j = 0; j < m; j++) {
			v[i][j] = 10 * i + j;
			points[i][j].x = i, points[i][j].y = -j;
			text[i][j] = j == m - 1 ? 0 : 'a' + i;
			for (int k = 0; k < 4; k++)
				last[i][k] = i * k, fours[i][j][k] = 100 * i + 10 * j + k;
			for (int k = 0; k < 2; k++)
				cube[i][k][j] = 100 * i + 10 * k + j;
		}
	}
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < m; j++)
			first[i][j] = 1000 * i + j;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < m; j++)
			typed[i][j] = i - j;
	USED(v); USED(points); USED(first); USED(last); USED(fours); USED(cube); USED(text); USED(single); USED(rows); USED(whole); USED(typed); USED(empty); USED(param);
	puts("stop"); /* here */
	USED(v); USED(points); USED(first); USED(last); USED(fours); USED(cube); USED(text); USED(single); USED(rows); USED(whole); USED(typed); USED(empty); USED(param);
	return n + m + (*whole)[0][0] + rows[0][0] + param[0][0];
}

int main(void)
{
	int a[4][5];
	for (int i = 0; i < 20; i++)
		a[i / 5][i % 5] = i;
	return check(4, 5, a) + check(2, 3, (void *)a) == 0;
}
