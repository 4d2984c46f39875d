package host

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func checkLeftovers(s Surroundings) []Finding {
	l := list{area: AreaLeftovers}
	o := s.Leftovers
	if o.Problem != "" {
		l.add("runs", DoctorNote, "were not looked for: "+o.Problem, "")
	} else {
		l.add("runs", DoctorOK, fmt.Sprintf("%s, %s; %d live", words.Count(o.Runs, "run"), words.Size(o.Bytes),
			len(o.Live)), "")
	}
	for _, run := range o.Damaged {
		l.add("damaged", DoctorWarn, "run "+run.ID+": "+run.Problem, "arbiter sessions show "+run.ID+o.Named)
	}
	for _, run := range shown(o.Resumable) {
		l.add("interrupted", DoctorNote, "run "+run.ID+" in "+run.Dir, "arbiter --resume --session "+run.ID+o.NamedToResume)
	}
	if n := len(o.Resumable) - len(shown(o.Resumable)); n > 0 {
		l.add("interrupted", DoctorNote, "and "+words.Count(n, "more run"), "arbiter sessions"+o.Named)
	}
	for _, run := range shown(o.Worktrees) {
		l.add("worktrees", DoctorNote, "of agents of run "+run.ID+" in "+run.Dir+"; removing the run saves their work first",
			"arbiter sessions rm "+run.ID+o.Named)
	}
	if len(o.Processes) > 0 {
		var names, pids []string
		for _, p := range o.Processes {
			names, pids = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID)), append(pids, strconv.Itoa(p.PID))
		}
		l.add("processes", DoctorWarn, "still run after the end of their run; the next run ends them: "+
			strings.Join(names, ", "),
			"kill -KILL "+strings.Join(pids, " "))
	}
	l.scratch(o.Scratch)
	return l.all
}

// shown returns the runs that are reported one by one.
func shown(runs []DoctorRun) []DoctorRun { return runs[:min(len(runs), 3)] }

// maxPaths bounds the number of paths in one command, so that the command is printed completely.
const maxPaths = 10

// scratch reports scratch directories, grouped by kind.
func (l *list) scratch(all []DoctorScratch) {
	var kinds []string
	paths := map[string][]string{}
	for _, s := range all {
		if paths[s.What] == nil {
			kinds = append(kinds, s.What)
		}
		paths[s.What] = append(paths[s.What], s.Path)
	}
	for _, kind := range kinds {
		found, some := fmt.Sprintf("%d %s", len(paths[kind]), kind), paths[kind]
		if len(some) > maxPaths {
			some = some[:maxPaths]
			found += fmt.Sprintf("; this removes %d of them", maxPaths)
		}
		l.add("scratch directories", DoctorNote, found, "rm -rf "+quoted(some))
	}
}
