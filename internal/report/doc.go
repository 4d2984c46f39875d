// Package report builds the report of a run: its task, its work, its changes and its proofs, for people and
// programs.
//
// A [Collector] goes through the events of a run once and builds a [Report]: one bounded value with texts
// that are masked and free of control characters. Five writers print it ([Write]), and [Report.Receipt]
// makes the short form that a shell shows when the run is over.
//
// Most texts of a report were written by agents and programs. No text can break out of the format in which
// it is printed: it cannot create a heading, link, image, HTML element, table column or list, close a
// fence, or act as a workflow command of a CI system whose log shows the report. The fuzz tests read each
// format with a real parser.
//
// The package starts nothing and waits for nothing.
package report
