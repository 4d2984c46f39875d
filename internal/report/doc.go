// Package report builds the report of a run: what it was asked, did, changed and proved, for people and programs.
//
// A [Collector] goes through the events of a run once and builds a [Report]: one bounded value, made of texts that are
// masked and free of control characters. Five writers print it ([Write]), and [Report.Receipt] makes the short form
// of it that a shell shows when the run is over.
//
// Most texts of a report were written by agents and programs. No text can break out of the format that it is printed
// in: it makes no heading, link, image, HTML element, table column or list of its own, closes no fence, and is no
// workflow command of a CI system whose log the report is printed to. The fuzz tests read each format with a real
// parser.
//
// The package starts nothing and waits for nothing.
package report
