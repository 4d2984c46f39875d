// Package localbridge starts the bridge on this machine: that of a run, and one beside any run, through which a command
// asks models.
package localbridge
