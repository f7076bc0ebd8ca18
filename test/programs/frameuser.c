/* A user of framelib.c. */
int entry(int a);

int main(int argc, char **argv)
{
	(void)argv;
	return entry(argc + 5) == 0;
}
