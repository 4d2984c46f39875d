// Package findclaude looks for the Claude Code CLI that a run would drive, and whether it is logged in.
package findclaude
