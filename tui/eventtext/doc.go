// Package eventtext puts events into words. Its table is the one place that says what an event is
// called: on one line, as in the log book of the screen ([Line]), and in full, as --plain prints it
// and /save writes it ([Text]). What the cards of the screen show of an event in places of their
// own takes its phrases from here, too. Its functions are pure, and know nothing of columns or
// colors.
//
// Text of events is sanitised when it comes here. The input of a tool is not, being JSON: what is
// decoded out of it is sanitised here.
package eventtext
