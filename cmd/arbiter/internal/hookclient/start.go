package hookclient

import "os"

// A session waits for `arbiter hook` at each tool call, and a third of the time that the program takes to start is the
// initialization of packages that a hook does not use: net/http, the Markdown parser, the MCP SDK, the command line.
// The language initializes packages in the order of their import paths, each after its imports (Go specification,
// "Program initialization"), so this package, which imports little, comes before those.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Command && Answers(os.Args[2:]) {
		os.Exit(Answer(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
}
