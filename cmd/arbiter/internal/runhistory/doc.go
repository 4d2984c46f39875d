// Package runhistory has the commands that read the record of a run: its story, its audit, its events, its agents and
// messages; and those that export runs to an archive and import them from one.
package runhistory
