package runloop

import (
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// rules are the present permission rules, compiled for each directory that agents work in: relative paths in
// rules begin at the directory of the agent whose call is judged. Several goroutines may use it at once.
type rules struct {
	mu       sync.Mutex
	policy   policy.Policy
	changes  int
	compiled map[string]*policy.Compiled // by directory
}

// set replaces the rules.
func (r *rules) set(p policy.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.policy, r.compiled = p, map[string]*policy.Compiled{}
	r.changes++
}

// in returns the rules for a directory; empty: the policy's own one.
func (r *rules) in(dir string) *policy.Compiled {
	for {
		r.mu.Lock()
		p, known, changes := r.policy, r.compiled[dir], r.changes
		r.mu.Unlock()
		if known != nil {
			return known
		}
		if dir != "" {
			p.CWD = dir
		}
		c := p.Compile() // this reads the file system
		r.mu.Lock()
		if r.changes == changes {
			r.compiled[dir] = c
			r.mu.Unlock()
			return c
		}
		r.mu.Unlock()
	}
}

// on returns the rules for a directory of another host.
func (r *rules) on(dir string, v view) policy.Rules {
	r.mu.Lock()
	p := r.policy
	r.mu.Unlock()
	p.CWD, p.Home, p.FoldsCase = dir, v.home, v.foldsCase
	return policy.Elsewhere(p, v.look)
}
