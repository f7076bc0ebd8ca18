// Package lttng has the names that LTTng gives to events of the kernel and to their fields, so that viewers made for its traces find them,
// and the sets of places that are recorded together.
//
// Import rule: lttng imports nothing of jalon.
package lttng
