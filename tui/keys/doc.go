// Package keys is the table of all key bindings: key, context, action, and the text of the
// help. The app looks up actions here, the help screen prints the table, and docs/screen.md
// names the most used keys. No key is bound elsewhere, except those of the editor ([Editing]).
package keys
