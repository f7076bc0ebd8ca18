// The program that the tests with GDB trace. It never runs: the test has its
// registers and memory.
volatile int total = 1;
char text[16] = "some text";

__attribute__((noinline)) int work(int i, int j)
{
    total += i * j;
    return total;
}

__attribute__((noinline)) void mark(void)
{
    __asm__ volatile("nop");
}

int main(void)
{
    for (int k = 0; k < 4; k++) {
        work(k, 7);
        mark();
    }
    return total;
}
