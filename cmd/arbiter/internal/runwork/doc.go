// Package runwork has the commands about the results of a run: show, undo and land its changes, report on it, and
// sum up the costs of runs.
package runwork
