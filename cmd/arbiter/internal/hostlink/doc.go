// Package hostlink opens the bridge of a run on another host and ends the processes that are left there. It also
// has the commands about hosts: list, add, remove, and check.
package hostlink
