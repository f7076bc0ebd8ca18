// Package threads is the state machine of a traced process's threads and their stops. It is
// pure: a report of wait(2) or a request changes the table, and gives effects for the driver
// (package process) to execute. It makes no system call, so its rules are tested with random
// sequences of events.
//
//	driver                                     table
//	wait(2) ── Parse ── Report(r) ───────────► thread.go: what is known of a thread
//	     ▲                                     handle.go: what a report changes, and
//	     │      execute effects, in order ◄─── what is to be done about it
//	     │      Handled(t) ──────────────────►
//	     └───── resume what MayResume allows ◄ table.go: which thread may run: holds, stop-the-world,
//	                                           exclusive steps
//
// An effect that lets the thread run inside (it is marked in the table of Op) is the last of
// its list: reports that come meanwhile change the table, and Handled looks at it afresh.
//
// Import rule: threads imports nothing of jalon.
package threads
