#include <stdint.h>

__thread int plugin_pad[5] = {1, 2, 3, 4, 5};
__thread int64_t plugin_tls = 42;

int plugin_touch(void) { return (int)++plugin_tls; }
void *plugin_address(void) { return &plugin_tls; }
