#include "shared.h"

struct opaque {
	int secret;
	char code[8];
};

static int file_static = 1000;
int shared_counter = 5;
static struct opaque store = { 99, "xyz" };
struct opaque *hidden = &store;

int other(int v)
{
	int w = from_header(v);
	shared_counter += w;
	file_static++;
	return w + file_static;
}
