// Package pages draws the screens around the conversation: the idle oracle, the first
// run, runs to resume, the plan, help, dialogs, and the strips of the weaving: the
// status line, the roster of agents, the plan in few rows.
//
// A page is a picture of data it was given with Set, and a little state of its own:
// what is chosen, how far it is scrolled. It knows no keys, no commands and no run. The
// owner maps keys to methods, and acts on what they return. Strings come in sanitised.
//
// Everything belongs to the goroutine that draws. Nothing here blocks or waits. Time is
// a parameter, except that drawing what moves looks at the clock.
package pages
