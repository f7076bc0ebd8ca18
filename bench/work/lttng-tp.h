/* The static tracepoint of the LTTng-UST row: the same place, the same data. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER jalonbench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng-tp.h"

#if !defined(LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_TP_H

#include <lttng/tracepoint.h>

/* LTTng's filters have no arithmetic: so the sum is an additional field. */
LTTNG_UST_TRACEPOINT_EVENT(jalonbench, hit,
	LTTNG_UST_TP_ARGS(int, counter1, int, counter2),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, sum, 2 * counter1 + 3 * counter2)
		lttng_ust_field_integer(int, counter1, counter1)
		lttng_ust_field_integer(int, counter2, counter2)
	)
)

#endif

#include <lttng/tracepoint-event.h>
