// Package runstore opens the runs of a state directory: finds one by its id, says where it stands, reads its event
// log, connects to the process that plays it, and removes what dead runs left behind.
package runstore
