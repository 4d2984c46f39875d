package host

import "fmt"

// The minimum limits for a run with several agents.
const (
	fewWatches   = 8192
	fewInstances = 64
	fewFiles     = 1024
	fewProcesses = 512
	smallFile    = 1 << 30
)

func checkMachine(s Surroundings) []Finding {
	l := list{area: AreaMachine}
	l.limits(s.Limits)
	switch {
	case s.Isolation.Had:
		l.add("processes", DoctorOK, "agents run in a PID namespace: the kernel ends processes that arbiter cannot end", "")
	case s.OS != "linux":
		l.add("processes", DoctorNote, "there are no PID namespaces on this system; escaped processes are found by "+
			"their environment", "")
	default:
		l.add("processes", DoctorNote, "agents do not run in a PID namespace: "+s.Isolation.Why,
			"arbiter --pid-namespace always")
	}
	l.sandbox(s)
	return l.all
}

func (l *list) limits(n DoctorLimits) {
	low := false
	for _, x := range []struct {
		name        string
		have, least int64
		means, fix  string
	}{
		{"inotify", n.Watches, fewWatches, "%d watches for a user: transcripts may be noticed late",
			"sudo sysctl fs.inotify.max_user_watches=524288"},
		{"inotify", n.Instances, fewInstances, "%d instances for a user: transcripts may be noticed late",
			"sudo sysctl fs.inotify.max_user_instances=512"},
		{"open files", n.Files, fewFiles, "%d for a process: a run of many agents needs more", "ulimit -n 4096"},
		{"user processes", n.Processes, fewProcesses, "%d: agents, their tools and builds need more",
			"ulimit -u 4096"},
		{"file size", n.FileSize, smallFile, "%d bytes at most: journals and transcripts are cut off there",
			"ulimit -f unlimited"},
	} {
		if x.have >= 0 && x.have < x.least {
			low = true
			l.add(x.name, DoctorWarn, fmt.Sprintf(x.means, x.have), x.fix)
		}
	}
	if !low {
		l.add("limits", DoctorOK, "enough files, processes and watches", "")
	}
}

func (l *list) sandbox(s Surroundings) {
	b := s.Sandbox
	state, without := DoctorNote, "; agents run unconfined"
	if b.Mode == "on" {
		state, without = DoctorFail, ", and it is asked for"
	}
	switch {
	case b.Holds && b.Mode == "off":
		l.add("sandbox", DoctorOK, "bubblewrap "+b.Version+" holds (--sandbox on)", "")
	case b.Holds:
		l.add("sandbox", DoctorOK, "bubblewrap "+b.Version+" holds: "+b.Confines, "")
	case s.OS != "linux":
		l.add("sandbox", state, b.Reason, "")
	case !b.Installed:
		l.add("sandbox", state, "bubblewrap is not installed"+without, "sudo apt-get install bubblewrap")
	case s.Sandbox.Restricted:
		l.add("sandbox", state, b.Reason, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0")
	default:
		l.add("sandbox", state, b.Reason, "")
	}
}
