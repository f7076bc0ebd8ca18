// Debugs children: with "vfork" those that it starts with vfork. Prints how many could not be traced.
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) long hit(long a) { __asm__ volatile("" : : "r"(a)); return a * 2 + 3; }

int main(int argc, char **argv)
{
	int wrong = 0;
	for (int i = 0; i < 20; i++) {
		hit(i);
		int status, pid = argc > 1 ? vfork() : fork();
		if (pid == 0) {
			hit(i);
			if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
				execl("/bin/true", "true", (char *)0);
			_exit(77);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
			wrong++;
			continue;
		}
		ptrace(PTRACE_CONT, pid, 0, 0);
		waitpid(pid, &status, 0);
		wrong += status != 0;
	}
	printf("wrong %d\n", wrong);
	return 0;
}
