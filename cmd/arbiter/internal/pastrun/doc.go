// Package pastrun reads what a run has left: its report, its work in Git, and the places of its sessions and
// images. The run may be live.
package pastrun
