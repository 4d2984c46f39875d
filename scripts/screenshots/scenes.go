package main

import "github.com/arbiter-cli/arbiter/rehearsal/terminal"

var usual = terminal.Size{Columns: 120, Rows: 36}

// scenes are the pictures of the documentation, in its order.
func scenes() []scene {
	return []scene{
		{
			name: "oracle", size: usual, args: []string{"--rehearse"},
			steps: []step{
				wait("Speak, mortal."),
				shoot("oracle", "arbiter at rest: its sigil, its name and the input line"),
				press("Ctrl+C", "Ctrl+C"),
			},
		},
	}
}
