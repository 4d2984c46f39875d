// Package keys is the one table of what the keyboard does: which key, where, what it
// leads to, and how the help puts it. The app looks its actions up here, the help
// screen prints it, and docs/screen.md names the most used ones; no key is known anywhere else,
// but for those of the editor itself ([Editing]).
package keys
