// Package inboxview is the panel of what waits for a human, as data: which item is at hand, which step of its answer is
// shown, and what a choice stands for. A dialog of package pages draws it; the screen carries the answers out.
package inboxview
