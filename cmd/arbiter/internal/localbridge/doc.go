// Package localbridge starts the bridge on this machine: the bridge of a run, or a bridge outside of any run,
// through which a command asks models.
package localbridge
