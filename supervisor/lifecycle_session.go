package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// OtherSession says why a process does not have the requested session, by the session it names; empty: it has,
// or it names none.
func OtherSession(a *Agent, session string) string {
	if session == "" || strings.EqualFold(session, a.SessionID) {
		return ""
	}
	return fmt.Sprintf("its process reports session %.100q instead of %s", session, a.SessionID)
}

// Disown reports such a process.
func Disown(c *effect.Collector, a *Agent, why string) {
	c.Emit(a.ID, contract.Error{Category: bridge.CatProtocol, Message: a.Name + ": " + why,
		RecoveryOptions: []string{}})
}

// Dirs returns where the agents of a run work.
func (s *LifecycleState) Dirs(o *runconfig.Options, r *Roster) AgentDirs {
	return AgentDirs{Options: o, Roster: r, HostDir: func(host string) string { return s.Bridge(host).Dir }}
}
