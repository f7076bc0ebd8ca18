// Writes a byte and waits.
#include <stdint.h>
#include <unistd.h>

__thread char stand_pad = 1;
__thread int64_t stand_tls __attribute__((aligned(32))) = 9;
int64_t *stand_address;

int main(void)
{
	char c = 'x';
	stand_address = &stand_tls;
	if (write(1, &c, 1) != 1)
		return 1;
	for (;;)
		pause();
}
