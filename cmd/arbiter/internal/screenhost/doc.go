// Package screenhost does for an interactive frontend what needs processes, files or the terminal: it starts runs,
// one after the other, and lends the terminal. Its Host implements tui.Host.
package screenhost
