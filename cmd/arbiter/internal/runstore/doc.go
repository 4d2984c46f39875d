// Package runstore opens the runs of a state directory: it finds one by its id, reports its status, reads its event
// log, connects to the process that plays it, and removes what ended runs left behind.
package runstore
