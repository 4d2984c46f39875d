// Package findclaude looks for the Claude Code CLI that a run would use, and checks whether it is logged in.
package findclaude
