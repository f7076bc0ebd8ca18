int other(int v);

static inline int from_header(int v)
{
	int scaled = v * 3;
	if (scaled > 10)
		scaled -= 10;
	return scaled;
}
