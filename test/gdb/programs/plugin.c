/* A library that is loaded while its user runs. */
int plugin_calls;

int plugin_work(int n)
{
	plugin_calls++;
	return n * 3;
}
