// The program of the recorded sessions of GDB with gdbserver.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct point { int x, y; };

volatile int total;
char text[64] = "plain } $ # * text";
struct point where = { 1, 2 };
__thread int per_thread = 42;

__attribute__((noinline)) int work(int i, int j)
{
    __asm__ volatile("nopw 0x1234(%rax,%rax,1)"); /* long enough for ftrace */
    total += i * j;
    where.x = i;
    return total;
}

__attribute__((noinline)) void mark(void)
{
    __asm__ volatile("nop");
}

static void *second(void *arg)
{
    per_thread = 43;
    for (int k = 0; k < 3; k++)
        work(k, *(int *)arg);
    return arg;
}

static void on_signal(int n)
{
    total += n;
}

static int children(void)
{
    raise(SIGUSR1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, 0, 0);
    pid = vfork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, 0, 0);
    execl("/bin/true", "true", (char *)0);
    return 1;
}

int main(int argc, char **argv)
{
    int seven = 7;
    pthread_t t;

    signal(SIGUSR1, on_signal);
    if (argc > 1 && !strcmp(argv[1], "children"))
        return children();
    for (int i = 0; i < 6; i++)
        work(i, i + 1);
    mark();
    if (pthread_create(&t, 0, second, &seven))
        return 1;
    pthread_join(t, 0);
    mark();
    work(100, 100);
    mark();
    puts(text);
    return 3;
}
