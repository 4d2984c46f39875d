// Package runhistory has the commands that read the record of a run (its story, its audit, its events, its agents
// and messages), and the commands that export and import runs as archives.
package runhistory
