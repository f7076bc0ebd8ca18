// A small server without a network: customers order, some orders are slow, some are refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct item {
	const char *name;
	int price, stock;
};

struct order {
	int number;
	struct item *item;
	int count;
	char customer[16];
};

static struct item items[] = {{"tea", 4, 60}, {"coffee", 7, 20}, {"cake", 12, 5}};

static int reserve(struct item *item, int count)
{
	if (item->stock < count)
		return -1;
	item->stock -= count;
	return item->stock;
}

static void pack(int count)
{
	struct timespec wait = {0, count * 200000L};

	if (count > 3)
		nanosleep(&wait, NULL);
}

int handle(struct order *o)
{
	int left = reserve(o->item, o->count);

	if (left < 0)
		return -1;
	pack(o->count);
	return o->count * o->item->price;
}

int main(int argc, char **argv)
{
	static const char *names[] = {"ada", "grace", "edsger"};
	int orders = argc > 1 ? atoi(argv[1]) : 30, sum = 0;

	for (int i = 0; i < orders; i++) {
		struct order o = {i, &items[i % 3], 1 + i % 5, ""};

		strcpy(o.customer, names[i * 7 % 3]);
		int paid = handle(&o);

		if (paid > 0)
			sum += paid;
	}
	printf("%d orders, %d paid\n", orders, sum);
	return 0;
}
