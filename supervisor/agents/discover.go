package agents

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Bounds of the agents in force: every run keeps them, and the Arbiter reads about each.
const (
	maxAgents = 200
	maxTotal  = 2 << 20 // bytes of their prompts and descriptions
)

// Found is the result of a search for agents.
type Found struct {
	Agents   []Agent    // those in force, sorted by name
	Shadowed []Shadowed // those that an agent with a higher rank hides
	Problems []Problem  // also of files that are used, as warnings
	// Untrusted are files of the workspace that were not read, because it is not trusted.
	Untrusted []string
}

// Shadowed is a hidden agent, and the Source of the one that is in force.
type Shadowed struct {
	Agent Agent
	By    string
}

// Discover finds the agents that are in force. It never fails: a file that cannot be used is left out and
// reported, and the file of the same name with the next lower rank replaces it.
func Discover(p Places) Found {
	var f finding
	f.broken = map[string][]int{}
	for _, d := range p.dirs() {
		f.look(d, d.bound == "" || p.Trusted)
	}
	for _, a := range builtin() {
		f.add(a, "")
	}
	f.settle()
	sortByName(f.Agents)
	return f.Found
}

// finding is a Found that is being built.
type finding struct {
	Found
	broken map[string][]int // names that unusable files would have had, to their problems
	places []string         // the directory of each of Agents
	total  int              // bytes of their prompts and descriptions
}

func (f *finding) look(d dir, allowed bool) {
	t, err := openTree(d)
	if err != nil {
		f.Problems = append(f.Problems,
			Problem{File: d.path, Text: fmt.Sprintf("cannot be looked at: %v", reason(err))})
		return
	}
	defer t.close()
	files := t.find()
	if !allowed {
		f.Untrusted = append(f.Untrusted, files...)
		return
	}
	f.Problems = append(f.Problems, t.problems...)
	for _, file := range files {
		f.read(t, file)
	}
}

func (f *finding) read(t *tree, file string) {
	src, err := t.read(file)
	if err != nil {
		f.leaveOut(Agent{Source: file}, []Problem{{File: file, Text: fmt.Sprintf("cannot be read: %v", reason(err))}})
		return
	}
	a, problems := read(file, src)
	if Broken(problems) {
		f.leaveOut(a, problems)
		return
	}
	f.Problems = append(f.Problems, problems...)
	f.add(a, t.path)
}

// leaveOut records the problems of a file, and the name it would have had.
func (f *finding) leaveOut(a Agent, problems []Problem) {
	name := a.Name
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(a.Source), ".md")
	}
	for i, p := range problems {
		if !p.Warning {
			f.broken[name] = append(f.broken[name], len(f.Problems)+i)
			break
		}
	}
	f.Problems = append(f.Problems, problems...)
}

// add puts an agent in force, unless one with a higher rank is.
func (f *finding) add(a Agent, place string) {
	for i, other := range f.Agents {
		if other.Name != a.Name {
			continue
		}
		f.Shadowed = append(f.Shadowed, Shadowed{Agent: a, By: other.Source})
		if place != "" && f.places[i] == place {
			f.Problems = append(f.Problems, Problem{File: a.Source, Field: "name",
				Text: fmt.Sprintf("%s is the name in %s, too, which is used", clip(a.Name), other.Source)})
		}
		return
	}
	size := len(a.Prompt) + len(a.Description)
	if place != "" && (len(f.Agents) == maxAgents || f.total+size > maxTotal) {
		f.Problems = append(f.Problems,
			Problem{File: a.Source, Text: fmt.Sprintf("left out: a run has %d agents of %d MiB in all, at most",
				maxAgents, maxTotal>>20)})
		return
	}
	f.total += size
	f.Agents, f.places = append(f.Agents, a), append(f.places, place)
	for _, i := range f.broken[a.Name] {
		f.Problems[i].Text += fmt.Sprintf("; the agent %s of %s is used in its place", clip(a.Name), a.Source)
	}
	delete(f.broken, a.Name)
}

// settle reports which names now have no agent.
func (f *finding) settle() {
	for _, list := range f.broken {
		for _, i := range list {
			f.Problems[i].Text += "; the file is not used"
		}
	}
}

// CheckFile returns all problems of one file, wherever it is.
func CheckFile(path string) []Problem {
	src, err := (&tree{}).read(path)
	if err != nil {
		return []Problem{{File: path, Text: fmt.Sprintf("cannot be read: %v", reason(err))}}
	}
	_, problems := read(path, src)
	return problems
}
