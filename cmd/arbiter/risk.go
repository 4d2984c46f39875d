package main

import (
	"os"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// refuseRoot keeps root from letting agents run anything unasked, unless arbiter's own
// sandbox confines them: variables that say of the machine that it is one do not count. A
// rehearsal's agents do what its script says.
func refuseRoot(o supervisor.Options, rehearse bool) error {
	return refuseUser(o, rehearse, os.Geteuid())
}

func refuseUser(o supervisor.Options, rehearse bool, uid int) error {
	if uid != 0 || rehearse || policy.Mode(o.Permissions) != policy.ModeAllowAll || o.Sandbox != nil {
		return nil
	}
	return usagef("--permissions allow-all as root lets every agent do anything to this machine: run as another user, add --sandbox, or use --permissions ask with --allow rules")
}
