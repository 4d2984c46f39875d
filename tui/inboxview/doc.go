// Package inboxview is the panel of what waits for a human, as data: which item is selected, which step of
// its answer is shown, and what a choice means. A dialog of package pages draws it; the screen performs the
// answers.
package inboxview
