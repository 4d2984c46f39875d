// Package pages draws the screens around the conversation: the home screen, the first run, runs to resume,
// the plan, help, dialogs, and the strips of the run screen: the status line, the roster of agents, the
// plan in few rows.
//
// A page draws the data that it was given with Set, and has a little state of its own: the selection and
// the scroll position. It handles no keys, no commands and no run. The owner maps keys to methods, and acts
// on their results. Strings must be sanitised.
//
// Everything belongs to the goroutine that draws. Nothing here blocks or waits. Time is a parameter, except
// that drawing animations reads the clock.
package pages
