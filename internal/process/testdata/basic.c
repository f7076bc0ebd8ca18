// basic [exit STATUS | signal N | echo]: ends in different ways.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
	printf("hello from %d arguments\n", argc);
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc > 2 && !strcmp(argv[1], "signal")) {
		raise(atoi(argv[2]));
		printf("survived\n");
	}
	if (argc > 1 && !strcmp(argv[1], "echo")) {
		char c;
		while (read(0, &c, 1) == 1)
			write(1, &c, 1) == 1 ? 0 : exit(1);
	}
	return 0;
}
