// Package hostlink opens the bridge of a run on another host and ends what is left there. It has the commands about
// hosts: list, add, remove, and check whether one can be used.
package hostlink
