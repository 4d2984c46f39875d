// Package screenhost does for a frontend with a person before it what needs processes, files or the terminal: it begins
// runs, one after the other, and lends the terminal. Its Host implements tui.Host.
package screenhost
