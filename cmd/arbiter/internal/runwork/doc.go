// Package runwork has the commands about what a run did: its changes shown, undone and brought into the user's branch,
// its report, and what runs cost.
package runwork
