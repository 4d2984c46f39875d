package policy

import (
	"errors"
	"fmt"
)

// Rules decide about requests: a [Compiled] on this machine's file system, the result of [Elsewhere] on another
// file system.
type Rules interface {
	Mode() Mode
	Decide(r Request) Decision
	Denied(r Request) (rule string, ok bool)
	Covered(r Request) (rule string, ok bool)
	Harmless(r Request) bool
	ReadsUnseen(r Request) bool
}

var _ Rules = (*Compiled)(nil)

// Lookup looks up paths of another file system, all in one request. It returns an entry for each, in order. An
// error says that nothing is known about any of them.
type Lookup func(paths []string) ([]Found, error)

// Elsewhere checks requests against the rules on another file system: CWD, Home and FoldsCase are that host's,
// and Resolve and Exists are not used. What a decision has to know about paths is requested in as few requests
// as possible, and again for each decision. If look fails, nothing is allowed: Decide asks, or denies in modes
// that do not ask.
func Elsewhere(p Policy, look Lookup) Rules { return &elsewhere{policy: p, look: look} }

type elsewhere struct {
	policy Policy
	look   Lookup
}

// maxLookups bounds the requests of one decision. Each result may lead to further paths: a link in a rule, then
// the directories above a file.
const maxLookups = 8

// errUnknown is the result for a path that was not looked up yet.
var errUnknown = errors.New("not looked at yet")

// facts are what is known about paths during one decision.
type facts struct {
	known   map[string]Found
	missing []string
}

func (f *facts) find(path string) (Found, error) {
	found, ok := f.known[path]
	if !ok {
		f.missing = append(f.missing, path)
		return found, errUnknown
	}
	return found, found.Err
}

func (f *facts) resolve(path string) (string, error) {
	found, err := f.find(path)
	return found.Path, err
}

func (f *facts) exists(path string) (bool, error) {
	found, err := f.find(path)
	return found.Exists, err
}

// fetch looks up the missing paths.
func (f *facts) fetch(look Lookup) error {
	var paths []string
	asked := map[string]bool{}
	for _, path := range f.missing {
		if !asked[path] {
			asked[path] = true
			paths = append(paths, path)
		}
	}
	found, err := look(paths)
	if err != nil {
		return err
	}
	if len(found) != len(paths) {
		return fmt.Errorf("%d paths of %d were checked", len(found), len(paths))
	}
	for i, path := range paths {
		f.known[path] = found[i]
	}
	f.missing = f.missing[:0]
	return nil
}

// answer asks the policy again until it knows all paths that it needs.
func answer[T any](e *elsewhere, ask func(*Policy) T) (T, error) {
	f := &facts{known: map[string]Found{}}
	p := e.policy
	p.Resolve, p.Exists = f.resolve, f.exists
	for range maxLookups {
		got := ask(&p)
		if len(f.missing) == 0 {
			return got, nil
		}
		if err := f.fetch(e.look); err != nil {
			var none T
			return none, fmt.Errorf("the host's files could not be read: %w", err)
		}
	}
	var none T
	return none, errors.New("the host's files lead from one to the next without end")
}

// Mode implements [Rules].
func (e *elsewhere) Mode() Mode { return e.policy.Mode }

// Decide implements [Rules].
func (e *elsewhere) Decide(r Request) Decision {
	d, err := answer(e, func(p *Policy) Decision { return p.Decide(r) })
	if err != nil {
		return e.policy.ask(ByRule, "", err.Error())
	}
	return d
}

// Denied implements [Rules]. A request that cannot be checked against the rules is denied.
func (e *elsewhere) Denied(r Request) (rule string, ok bool) {
	type denial struct {
		rule string
		ok   bool
	}
	d, err := answer(e, func(p *Policy) denial {
		rule, ok := p.Denied(r)
		return denial{rule, ok}
	})
	return d.rule, d.ok || err != nil
}

// Covered implements [Rules].
func (e *elsewhere) Covered(r Request) (rule string, ok bool) {
	type cover struct {
		rule string
		ok   bool
	}
	c, err := answer(e, func(p *Policy) cover {
		rule, ok := p.Covered(r)
		return cover{rule, ok}
	})
	return c.rule, c.ok && err == nil
}

// Harmless implements [Rules].
func (e *elsewhere) Harmless(r Request) bool {
	harmless, err := answer(e, func(p *Policy) bool { return p.Harmless(r) })
	return harmless && err == nil
}

// ReadsUnseen implements [Rules].
func (e *elsewhere) ReadsUnseen(r Request) bool {
	unseen, err := answer(e, func(p *Policy) bool { return p.ReadsUnseen(r) })
	return unseen || err != nil
}
