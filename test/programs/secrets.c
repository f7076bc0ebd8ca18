// Calls with secrets in members, strings, arguments, the command line and the name of the thread.
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

struct login {
	int id;
	char user[8];
	char password[16];
	struct { int pin, n; } in[2];
	const char *passphrase, *query, *role;
};

__attribute__((noinline)) int check_login(struct login *l, const char *line, unsigned token)
{
	__asm__ volatile("" ::: "memory");
	return l->id + (int)token;
}

int main(int argc, char **argv)
{
	struct login l = {0, "alice", "hunter3", {{0x5ec2e7a1, 1}, {0x5ec2e7a1, 2}}, "hunter34", NULL, "admin"};
	char line[64];
	l.query = line;
	int sum = 0;
	prctl(PR_SET_NAME, "secretname");
	for (int i = 0; i < 100; i++) {
		l.id = i;
		sprintf(line, "GET /?key=s3cret%d&x=%d", i, i);
		sum += check_login(&l, line, 99);
	}
	return sum == 1;
}
