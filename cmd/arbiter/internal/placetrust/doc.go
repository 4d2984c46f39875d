// Package placetrust decides whether a workspace's own settings, hooks and agents are trusted: by a flag, or
// because a human trusted exactly the current ones.
package placetrust
