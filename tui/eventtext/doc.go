// Package eventtext turns events into text. Its table is the only source of the wording of events:
// on one line, as in the logbook of the screen ([Line]), and in full, as --plain prints it
// and /save writes it ([Text]). The cards of the screen take their phrases from here, too.
// Its functions are pure, and independent of columns and colours.
//
// Callers pass sanitised events. The input of a tool is JSON and not sanitised: what this
// package decodes from it, it sanitises.
package eventtext
