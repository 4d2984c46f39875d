// Package runsession is a run from a frontend's point of view: a connection to the process that hosts the run,
// renewed when it is lost.
package runsession
