package supervisor

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Snapshots of the files: after each turn of an Orchestrator, and at the end of the run.

// lastSnapshotTimeout bounds how long the result waits for the last snapshot.
const (
	lastSnapshotTimeout = 20 * time.Second
	lastSnapshotKey     = "last-snapshot"
)

// recordTurn has the files recorded after a turn that used tools. document is the serial of the last document before
// it.
func (st *step) recordTurn(id string, t bridge.Turn, document int) {
	a, _ := st.Agent(id)
	if a.Role != roster.RoleOrchestrator || a.Isolation != "" && a.Own.Branch == "" || t.Tools == 0 && len(t.Files) == 0 {
		return
	}
	keep := ""
	if st.Handoff.DocumentSerial > document {
		keep = fmt.Sprintf("handoff-%d", st.Handoff.DocumentSerial)
	}
	turn := changes.Turn{Agent: id, Named: t.Files, Keep: keep}
	if a.Isolation != "" {
		turn.Top = st.Options.Workspace.Top(id)
	}
	var working []string
	for _, other := range st.Agents {
		if other.Role != roster.RoleOrchestrator {
			continue
		}
		if other.Alive() {
			turn.Alive = append(turn.Alive, other.ID)
		}
		if other.ToolCall != nil && other.Isolation == "" {
			working = append(working, other.ID)
		}
	}
	st.Changes.TurnEnded(&st.out, st.Options.Workspace, turn, working)
}

// snapshotTaken reports what a snapshot showed. The agents of an overlap get a message if they work; the Arbiter reads
// it in its work log.
func (st *step) snapshotTaken(f input.SnapshotTaken) {
	o := st.Changes.Recorded(&st.out, st.Options.Workspace, changes.Recorded(f))
	if st.Ending != nil {
		if o.Final {
			st.finish()
		}
		return
	}
	if o.Judge {
		st.judgeTree(o.Tree)
	}
	st.repeatRecorded()
	st.tellOverlaps(o.Overlaps)
}

// maxOverlapsTold bounds the files that one message names.
const maxOverlapsTold = 10

// tellOverlaps tells agents which files others changed, too: one message an agent, for all files.
func (st *step) tellOverlaps(overlaps []contract.Overlap) {
	if len(overlaps) == 0 {
		return
	}
	files := map[string][]string{}
	var all, agents []string
	for _, o := range overlaps {
		line := fmt.Sprintf("- %s (%s)", words.Head(o.Path, 300), strings.Join(o.Agents, ", "))
		all = append(all, line)
		for _, id := range o.Agents {
			if files[id] == nil {
				agents = append(agents, id)
			}
			files[id] = append(files[id], line)
		}
	}
	st.mail().Log(contract.Supervisor, conversation.KindNotice, "Orchestrators changed the same files:\n"+listed(all))
	for _, id := range agents {
		a, _ := st.Agent(id)
		if a.Isolation != "" { // it sees only its own files; a merge tells it exactly what conflicts
			continue
		}
		if a.Standing == roster.Working && a.Status == roster.Busy {
			st.mail().Tell(id, conversation.KindNotice, "You and another Orchestrator changed the same "+
				"files:\n"+listed(files[id])+
				"\nRead them again before you go on, keep the other's changes, and report to the Arbiter if they "+
				"contradict yours.")
		}
	}
}

// listed joins the first lines of a list.
func listed(lines []string) string {
	if n := len(lines) - maxOverlapsTold; n > 0 {
		lines = append(lines[:maxOverlapsTold:maxOverlapsTold], fmt.Sprintf("- and %d more", n))
	}
	return strings.Join(lines, "\n")
}

// lastSnapshot has the files recorded once more. The result follows it, or a timer.
func (st *step) lastSnapshot() {
	if st.Ending.Said || st.Ending.Records {
		return
	}
	if !st.Changes.Finish(&st.out, st.Options.Workspace) {
		st.finish()
		return
	}
	ending := *st.Ending
	ending.Records = true
	st.Ending = &ending
	st.do(effect.SetTimer{Key: lastSnapshotKey, After: lastSnapshotTimeout})
}
