// Package pastrun reads what a run has left: its report, its work in Git, and where its sessions and images are. The
// run may be live.
package pastrun
