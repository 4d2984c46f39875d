// Package workspacecmd has the commands about what is kept for a workspace, and is no run's: its trust, grants, memory
// and agent files.
package workspacecmd
