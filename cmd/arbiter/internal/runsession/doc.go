// Package runsession is a run as a frontend sees it: a connection to the process that hosts it, renewed when it is
// lost.
package runsession
