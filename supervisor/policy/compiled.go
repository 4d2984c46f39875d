package policy

import (
	"path"
	"slices"
)

// Compiled is a [Policy] prepared for many decisions: the paths of its rules are resolved in advance. It
// decides as the Policy does, as of its creation; several goroutines may use it at once.
//
// Links that are created later are followed in requests, but not in rules. Rules that contained a link from the
// beginning are resolved again each time, so that a link such as releases/current may be changed.
// such as releases/current may be pointed elsewhere.
type Compiled struct {
	policy           Policy
	roots            roots
	deny, ask, allow list
}

// Compile prepares a policy for many decisions. It resolves the links of its rules.
func (p Policy) Compile() *Compiled {
	c := &Compiled{policy: p}
	c.policy.Deny, c.policy.Ask, c.policy.Allow = slices.Clone(p.Deny), slices.Clone(p.Ask), slices.Clone(p.Allow)
	c.roots.policy = &c.policy
	c.roots.of(rootCWD)
	c.roots.of(rootHome)
	bases := map[string]string{}
	deny := func(r *Rule) region { return c.roots.settled(r, bases) }
	c.deny = regionsOf(c.policy.Deny, deny)
	c.ask = regionsOf(c.policy.Ask, deny)
	c.allow = regionsOf(c.policy.Allow, c.roots.regionOfAllow)
	return c
}

func regionsOf(rules []Rule, regionOf func(*Rule) region) list {
	l := list{rules: rules, regions: make([]region, len(rules))}
	for i := range rules {
		if rules[i].kind == kindPath {
			l.regions[i] = regionOf(&rules[i])
		}
	}
	return l
}

// settled is regionOfDeny with link set if there is a link below the rule's root, or if the path could not be
// resolved.
func (t *roots) settled(r *Rule, bases map[string]string) region {
	at := t.regionOfDeny(r)
	if !at.ok {
		return at
	}
	base, known := bases[at.base]
	if !known {
		base = t.policy.resolve(at.base)
		bases[at.base] = base
	}
	fixed := at.segs[:len(at.segs)-len(at.realSegs)]
	expected := path.Join(append([]string{base}, fixed...)...)
	if real, err := t.policy.follow(at.literal); err != nil || real != expected {
		at.link = at.literal
	}
	return at
}

func (c *Compiled) query(r Request) *query {
	at := c.roots
	return c.policy.query(r, &at, c.deny, c.ask, c.allow)
}

// Mode is the policy's.
func (c *Compiled) Mode() Mode { return c.policy.Mode }

// Decide reports whether the tool may run.
func (c *Compiled) Decide(r Request) Decision { return c.policy.decide(c.query(r)) }

// Denied is [Policy.Denied].
func (c *Compiled) Denied(r Request) (rule string, ok bool) {
	return c.query(r).denied()
}

// Covered is [Policy.Covered].
func (c *Compiled) Covered(r Request) (rule string, ok bool) {
	q := c.query(r)
	return q.covered(q.allow)
}

// Harmless is [Policy.Harmless].
func (c *Compiled) Harmless(r Request) bool { return c.query(r).harmless() }

// ReadsUnseen is [Policy.ReadsUnseen].
func (c *Compiled) ReadsUnseen(r Request) bool { return c.query(r).readsUnseen() }
