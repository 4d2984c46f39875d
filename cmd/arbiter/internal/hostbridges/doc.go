// Package hostbridges has the bridges of a run on other hosts: it opens and watches them, tries their sandboxes,
// moves the work of agents between them and the repository of the run, and ends the processes there.
package hostbridges
