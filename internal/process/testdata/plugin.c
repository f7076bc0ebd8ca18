int plugin_value(int x) { return x * 2; }
