package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// workspaceMemory is what the runs in a workspace have learned.
type workspaceMemory struct {
	stateDir, place string
	mask            func(string) string
	off             bool // nothing is read or written, as in a rehearsal
}

// recall reads what earlier runs have learned into the options of a run. If the caller gets an error, the run
// continues without memory.
func (w workspaceMemory) recall(o *runconfig.Options) error {
	if w.off {
		return nil
	}
	store, err := memory.Open(w.stateDir, w.place, w.mask)
	if err != nil {
		return err
	}
	defer store.Close() // it was only read
	m, err := store.Load()
	o.Lessons = memory.Brief(m.Lessons)
	o.Performance = memory.Performance(m.Outcomes)
	o.Expected = memory.Forecasts(m.Outcomes)
	return err
}

// remember stores what a run has learned, and how its agents did.
func (w workspaceMemory) remember(s *supervisor.State) error {
	if w.off || s.Ending == nil || !s.Ending.Said || !s.Reached() {
		return nil
	}
	store, err := memory.Open(w.stateDir, w.place, w.mask)
	if err != nil {
		return err
	}
	defer store.Close()
	now := time.Now()
	var lessons []memory.Lesson
	for _, l := range s.Task.Lessons {
		lessons = append(lessons, memory.Lesson{
			Text: l.Text, Evidence: l.Evidence, Run: command.ShortID(s.Options.Run), Date: now,
		})
	}
	if len(lessons) > 0 {
		if err := store.Learn(lessons); err != nil {
			return err
		}
	}
	if s.Options.ForkedFrom != nil {
		return nil // its executions are those of the other run, too
	}
	var uses []memory.AgentUse
	for _, a := range s.Agents {
		if a.Role != supervisor.RoleOrchestrator {
			continue
		}
		use := memory.AgentUse{Mode: supervisor.ModeOf(a), Restarts: a.Generation - 1, CostUSD: a.Spent()}
		if a.Standing == supervisor.HandedOff {
			use.Handoffs = 1
		}
		uses = append(uses, use)
	}
	return store.Record(memory.Outcome{
		Run: s.Options.Run, Date: now, Status: s.Ending.Status, CostUSD: s.Spent(),
		Agents: memory.Tally(s.Task.History.Counts(), uses),
	})
}

// windowsName is the file of the state directory with what models have refused as too long: how many tokens each takes
// at most. It may be removed: later runs learn the limits again.
const windowsName = "windows.json"

// windows is that file.
type windows struct {
	V       int            `json:"v"`
	Windows map[string]int `json:"windows"` // by the name of the model
}

// readWindows reads what earlier runs have learned about models.
func readWindows(d *statedir.Dir) (windows, error) {
	w := windows{V: 1}
	_, problem, err := d.ReadJSON(windowsName, 1<<20, w.V, &w)
	if problem != "" {
		err = fmt.Errorf("%s cannot be used: %s; remove it", d.Path(windowsName), problem)
	}
	return w, err
}

// keepWindow keeps what a run has learned for later runs.
func keepWindow(stateDir, model string, tokens int) error {
	d, err := statedir.Open(stateDir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Lock(windowsName+".lock", 5*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := readWindows(d)
	if err != nil {
		return err
	}
	if w.Windows == nil {
		w.Windows = map[string]int{}
	}
	w.Windows[model] = tokens
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return d.Replace(windowsName, raw)
}

// withWindows adds to the options of a run what earlier runs have learned, except about models for which the human has
// given a limit.
func withWindows(o *runconfig.Options, stateDir string) error {
	d, err := statedir.Open(stateDir)
	if err != nil {
		return err
	}
	defer d.Close()
	w, err := readWindows(d)
	if err != nil || len(w.Windows) == 0 {
		return err
	}
	caps := maps.Clone(o.ContextTokensFor)
	if caps == nil {
		caps = map[string]int{}
	}
	for model, tokens := range w.Windows {
		given := false
		for prefix := range o.ContextTokensFor {
			given = given || strings.HasPrefix(model, prefix)
		}
		if !given && tokens > 0 {
			caps[model] = tokens
		}
	}
	o.ContextTokensFor = caps
	return nil
}

// keptGrants has the permanent grants of the human for the workspace of a run. The zero value keeps none: a
// rehearsal's workspace is removed with the rehearsal.
type keptGrants struct{ store *trust.GrantStore }

// use gives a loop the stored grants of a workspace, and stores new ones. If the store cannot be opened, the human
// is informed, and the run continues and asks.
func (k *keptGrants) use(loop *runloop.Loop, stateDir, workspace string, notices *notice) {
	store, err := trust.OpenGrants(stateDir, workspace)
	if err != nil {
		notices.add("the grants of this workspace cannot be read, and new ones are not saved: %v", err)
		return
	}
	k.store = store
	kept, problems, err := store.Load()
	if err != nil {
		notices.add("the grants of this workspace cannot be read: %v", err)
	}
	for _, p := range problems {
		notices.add("a grant of this workspace is not trusted (%s)", p)
	}
	if err := loop.Grants(store, kept); err != nil {
		notices.add("%v", err)
	}
}

func (k *keptGrants) close() {
	if k.store != nil {
		_ = k.store.Close() // it was only read
	}
}
