// A program of Go's compiler, whose call frame information is in .debug_frame.
package main

import "os"

func main() { os.Exit(len(os.Args) - 1) }
