// Package placetrust decides whether a workspace's own settings, hooks and agents are trusted: by a flag, or because
// a human trusted exactly what is there now.
package placetrust
