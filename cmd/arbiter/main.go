// Command arbiter drives a hierarchy of Claude Code sessions through one task,
// however long. See `arbiter --help` and README.md.
package main

import "os"

func main() { os.Exit(Main()) }
