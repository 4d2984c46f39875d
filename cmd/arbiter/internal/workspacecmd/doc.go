// Package workspacecmd has the commands about the data of a workspace that belongs to no run: trust, grants, memory
// and agent files.
package workspacecmd
