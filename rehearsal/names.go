package rehearsal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// groups returns the names that expectations capture anywhere in the scenario.
func (s *Scenario) groups() []string {
	seen := map[string]bool{}
	for _, a := range s.actors {
		for _, st := range a.allSteps() {
			if st.expect == nil {
				continue
			}
			for _, g := range st.expect.SubexpNames() {
				if g != "" {
					seen[g] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (a *actor) allSteps() []*step {
	return slices.Concat(a.steps, a.otherwise)
}

// checkNames finds the names in templates that are never set. Which variables exist is known only at Start,
// because options add some.
func (s *Scenario) checkNames() error {
	var errs []error
	known := map[string]bool{}
	for w := range reserved {
		known[w] = true
	}
	for _, g := range s.groups() {
		if what, taken := reserved[g]; taken {
			errs = append(errs, fmt.Errorf("%s: the group name %q is taken: it stands for %s", s.file, g, what))
		}
		known[g] = true
	}
	s.eachText(func(t *text) {
		top, _ := t.names()
		for _, n := range top {
			if !known[n] {
				errs = append(errs, fmt.Errorf("%s: no expectation captures a group %q", t.at, n))
			}
		}
	})
	return errors.Join(errs...)
}

// CheckVars finds the variables that neither the scenario nor the caller set.
func (s *Scenario) CheckVars(vars map[string]string) error {
	var errs []error
	s.eachText(func(t *text) {
		_, names := t.names()
		for _, n := range names {
			if _, ok := vars[n]; !ok {
				errs = append(errs, fmt.Errorf("%s: variable %q is neither in the scenario's vars nor given", t.at, n))
			}
		}
	})
	return errors.Join(errs...)
}

func (s *Scenario) eachText(visit func(*text)) {
	some := func(t *text) {
		if t != nil {
			visit(t)
		}
	}
	for _, a := range s.actors {
		for _, st := range a.allSteps() {
			some(st.think)
			some(st.say)
			for _, u := range st.use {
				eachText(tree(u.input), visit)
			}
			for _, am := range []*amount{st.usage.context, st.usage.input, st.usage.cacheRead, st.usage.cacheCreation,
				st.usage.output} {
				if am != nil {
					some(am.text)
				}
			}
			if st.fault != nil {
				some(st.fault.message)
			}
		}
	}
}
