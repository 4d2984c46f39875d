package bridge

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"sync"
)

// ViolationError is the reason why a client ended a connection: the bridge broke the protocol in a way in
// which no honest bridge does. Such a host must not be tried again without a human.
type ViolationError struct{ What string }

func (e *ViolationError) Error() string { return "the host broke the protocol: " + e.What }

func violation(format string, args ...any) *ViolationError {
	return &ViolationError{fmt.Sprintf(format, args...)}
}

// placed are the agents that a client has started at its bridge. A remote bridge's messages about other
// agents are refused: it could impersonate an agent of another host.
type placed struct {
	mu      sync.Mutex
	strict  bool           // of a remote bridge
	agents  map[string]int // the latest generation, by id
	numbers uint64         // of the last event
	// branches and dir are the prefixes of this run's branches and directories on the host; "" unless
	// strict.
	branches, dir string
}

func (p *placed) demand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strict = true
}

// setWorkPlace sets where the work of a run is kept on the host.
func (p *placed) setWorkPlace(run, dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.branches, p.dir = fmt.Sprintf("arbiter/%.8s/", run), fmt.Sprintf("%s/%.8s/", strings.TrimSuffix(dir, "/"), run)
}

// work checks that a branch, and directories, are those of an Orchestrator: the branch that a host names is
// fetched, and replaces the branch of that name here.
func (p *placed) work(orchestrator int, branch string, dirs ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.strict {
		return nil
	}
	name := fmt.Sprintf("orch-%d", orchestrator)
	generation, own := strings.CutPrefix(branch, p.branches+name+".")
	if n, err := strconv.ParseUint(generation, 10, 31); !own || err != nil || strconv.FormatUint(n, 10) != generation {
		return violation("it named %.100q as the branch of %s", branch, name)
	}
	for _, dir := range dirs {
		if !cleanPath(dir) || dir != p.dir+name && !strings.HasPrefix(dir, p.dir+name+"/") {
			return violation("it named %.100q as a directory of %s", dir, name)
		}
	}
	return nil
}

func (p *placed) add(ref AgentRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.agents == nil {
		p.agents = map[string]int{}
	}
	p.agents[ref.ID] = max(p.agents[ref.ID], ref.Generation)
}

// about checks that a message is about an agent that is placed here.
func (p *placed) about(what string, ref AgentRef) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if latest, known := p.agents[ref.ID]; p.strict && (!known || ref.Generation < 1 || ref.Generation > latest) {
		return violation("it sent %s of %.100q, an agent that is not placed there", what, ref.String())
	}
	return nil
}

// event checks an event and its number: numbers must grow, so that an event that is sent again, such as by
// a transport that repeats its output, does not count as new.
func (p *placed) event(ev Event, number uint64) error {
	p.mu.Lock()
	last := p.numbers
	p.numbers = max(last, number)
	p.mu.Unlock()
	if number <= last {
		return violation("the event with the number %d came after number %d", number, last)
	}
	return p.about("an event", ev.AgentRef)
}

// placedAgent makes a handler of a request about an agent.
func placedAgent[P interface{ ref() AgentRef }, R any](c *Client,
	serve func(context.Context, P) (R, error)) handlerFunc {
	return method(func(ctx context.Context, p P) (R, error) {
		if err := c.placed.about("a request", p.ref()); err != nil {
			var none R
			c.p.s.fail(err)
			return none, err
		}
		return serve(ctx, p)
	})
}

// window distinguishes ids of new requests from repeated ones. Requests are numbered when they are made,
// and written by several goroutines, so that their order may differ a little.
type window struct {
	latest uint64
	seen   map[uint64]bool // of the last ones
}

// reordered is how many requests a later one may overtake.
const reordered = 4096

// take records an id, and reports whether it is new.
func (w *window) take(id string) bool {
	number, err := strconv.ParseUint(strings.TrimPrefix(id, "c"), 10, 64)
	if err != nil || w.seen[number] || number+reordered < w.latest {
		return false
	}
	if w.seen == nil {
		w.seen = map[uint64]bool{}
	}
	w.seen[number] = true
	if w.latest = max(w.latest, number); len(w.seen) > 2*reordered {
		maps.DeleteFunc(w.seen, func(n uint64, _ bool) bool { return n+reordered < w.latest })
	}
	return true
}

// Bounds of what a remote bridge reports about itself.
const maxInfoText = 4096

// honest checks a remote bridge's answer to initialize: a program that did not understand the request, or
// claims falsely to have, would continue without a lease.
func (r InitializeResult) honest(p InitializeParams) error {
	info := r.Remote
	if info == nil {
		return violation("it does not say that it is a remote bridge")
	}
	if r.Version != p.Remote.Version {
		return violation("it is arbiter %.100q, and did not refuse %.100q", r.Version, p.Remote.Version)
	}
	if info.LeaseMS != p.Remote.LeaseMS {
		return violation("it took a lease of %d ms for one of %d ms", info.LeaseMS, p.Remote.LeaseMS)
	}
	for name, value := range map[string]string{"home": info.Home, "dir": info.Dir, "cache": info.Cache} {
		if !cleanPath(value) {
			return violation("its %s is not a clean absolute path: %.100q", name, value)
		}
	}
	for name, value := range map[string]string{"dir": info.Dir, "cache": info.Cache} {
		if strings.Trim(value, plainWord) != "" {
			return violation("its %s has characters that a shell would read: %.100q", name, value)
		}
	}
	if !strings.HasPrefix(info.Cache, strings.TrimSuffix(info.Dir, "/")+"/") {
		return violation("its cache is not below its directory: %.100q", info.Cache)
	}
	if info.Sandbox != "" && !cleanPath(info.Sandbox) {
		return violation("its sandbox is not an absolute path: %.100q", info.Sandbox)
	}
	for _, hidden := range info.SandboxHide {
		if !cleanPath(hidden) {
			return violation("it hides what is not an absolute path: %.100q", hidden)
		}
	}
	for _, text := range []string{info.Hostname, info.OS, info.Arch, info.Namespace, info.SandboxReason, r.Version,
		r.Claude.Version, r.Claude.Path} {
		if len(text) > maxInfoText {
			return violation("its description of itself is too long: %.100q …", text)
		}
	}
	return nil
}

func cleanPath(name string) bool {
	return path.IsAbs(name) && path.Clean(name) == name && len(name) <= maxInfoText && !strings.ContainsRune(name, 0)
}

// plainWord lists the characters that are allowed in words appended to a host's command: ssh passes them to
// a shell.
const plainWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/=:@%+,-"
