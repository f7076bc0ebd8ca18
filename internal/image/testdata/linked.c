// Uses the library that it is linked with, writes a byte and waits.
#include <unistd.h>

void *plugin_address(void);
void *plugin_address_seen;

int main(void)
{
	char c = 'x';
	plugin_address_seen = plugin_address();
	if (write(1, &c, 1) != 1)
		return 1;
	for (;;)
		pause();
}
