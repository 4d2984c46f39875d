package policy

import "strings"

// index finds those of a list's rules that a request may be about, so that only they
// are held against it. It leaves out none that could match; whether one does is for
// mightMatch and covers to say, as without an index.
type index struct {
	rules    []Rule
	regions  []region // of path rules, by the rule's place
	whole    map[string]int
	servers  map[string]int
	prefixes []int // MCP rules with *

	commands map[string][]int // rules about commands, by the command's name
	lasts    map[string][]int // those whose name has a *, by the last word
	tails    []int            // all that are in lasts
	loose    []int            // those whose last word has one, too
	rows     []int            // those about several commands in a row
	bash     []int            // all of them

	paths map[string]*pathIndex // by the rule's tool
	hosts map[string][]int      // by the domain
	names map[string]*nameIndex // by the rule's tool

	firstHost int
}

type nameIndex struct {
	exact map[string][]int // in lower case
	loose []int
	first int
}

func newIndex(rules []Rule, regionOf func(*Rule) region) *index {
	x := &index{
		rules: rules, regions: make([]region, len(rules)), whole: map[string]int{}, servers: map[string]int{}, commands: map[string][]int{}, lasts: map[string][]int{},
		paths: map[string]*pathIndex{}, hosts: map[string][]int{}, names: map[string]*nameIndex{}, firstHost: len(rules),
	}
	for i := range rules {
		x.add(i, &rules[i], regionOf)
	}
	return x
}

func (x *index) add(i int, r *Rule, regionOf func(*Rule) region) {
	switch r.kind {
	case kindTool:
		keepFirst(x.whole, r.tool, i)
	case kindMCP:
		if strings.HasSuffix(r.tool, "*") {
			x.prefixes = append(x.prefixes, i)
		} else {
			keepFirst(x.servers, r.tool, i)
		}
	case kindBash:
		x.addCommand(i, r)
	case kindPath:
		p := x.paths[r.tool]
		if p == nil {
			p = &pathIndex{dirs: map[string]*pathBucket{}, first: len(x.rules)}
			x.paths[r.tool] = p
		}
		x.regions[i] = regionOf(r)
		p.add(i, &x.regions[i])
	case kindDomain:
		domain := strings.TrimPrefix(r.spec, "*.")
		x.hosts[domain] = append(x.hosts[domain], i)
		x.firstHost = min(x.firstHost, i)
	case kindName:
		n := x.names[r.tool]
		if n == nil {
			n = &nameIndex{exact: map[string][]int{}, first: i}
			x.names[r.tool] = n
		}
		if name := strings.ToLower(r.spec); strings.Contains(name, "*") {
			n.loose = append(n.loose, i)
		} else {
			n.exact[name] = append(n.exact[name], i)
		}
	}
}

func (x *index) addCommand(i int, r *Rule) {
	x.bash = append(x.bash, i)
	if r.inARow() {
		x.rows = append(x.rows, i)
	}
	name, last := firstWord(r.spec), lastWord(r.spec)
	switch {
	case !strings.Contains(name, "*"):
		x.commands[name] = append(x.commands[name], i)
	case !strings.Contains(last, "*"):
		x.lasts[last] = append(x.lasts[last], i)
		x.tails = append(x.tails, i)
	default:
		x.loose = append(x.loose, i)
	}
}

func keepFirst(m map[string]int, key string, i int) {
	if _, there := m[key]; !there {
		m[key] = i
	}
}

// firstWord is a command's name: what a text has before the first blank.
func firstWord(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i]
	}
	return s
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// text is the rule at a place that might or covers returned.
func (x *index) text(i int) (string, bool) {
	if i >= len(x.rules) {
		return "", false
	}
	return x.rules[i].text, true
}

// search looks for the first rule that matches.
type search struct {
	*index
	q     *query
	at    int // the first so far; the number of rules while there is none
	match func(*Rule, *region) bool
}

func (s *search) try(places []int) {
	for _, i := range places {
		if i >= s.at {
			return
		}
		if s.match(&s.rules[i], &s.regions[i]) {
			s.at = i
			return
		}
	}
}

// might returns the place of the first rule that might match, as for deny and ask.
func (x *index) might(q *query) int {
	s := &search{index: x, q: q, at: len(x.rules), match: q.mightMatch}
	s.wholeTool()
	if q.tool == "Bash" && len(x.bash) > 0 {
		s.mightCommands()
	}
	if q.tool == "Bash" {
		for _, tool := range []string{"Read", "Edit"} {
			if p := x.paths[tool]; p != nil {
				s.mightPaths(p, q.commandFiles(tool))
			}
		}
	}
	for _, tool := range ruleTools(q.tool) {
		if p := x.paths[tool]; p != nil {
			s.mightPaths(p, q.paths())
		}
		s.named(x.names[tool], true)
	}
	if q.tool == "WebFetch" && len(x.hosts) > 0 {
		s.host(true)
	}
	return s.at
}

// covers returns the place of the first rule that alone covers a request.
func (x *index) covers(q *query) int {
	s := &search{index: x, q: q, at: len(x.rules), match: q.covers}
	s.wholeTool()
	for _, tool := range ruleTools(q.tool) {
		if p := x.paths[tool]; p != nil {
			p.lookUp(q.paths()[0].lexical, s.try)
		}
		s.named(x.names[tool], false)
	}
	if q.tool == "WebFetch" && len(x.hosts) > 0 {
		s.host(false)
	}
	return s.at
}

// ruleTools are the tools by which rules may name one.
func ruleTools(tool string) []string {
	switch {
	case tool == "Agent" || tool == "Task":
		return []string{"Agent", "Task"}
	case editors[tool] && tool != "Edit":
		return []string{tool, "Edit"}
	case readers[tool] && tool != "Read":
		return []string{tool, "Read"}
	}
	return []string{tool}
}

// wholeTool tries rules that are about a tool whatever it does.
func (s *search) wholeTool() {
	for _, tool := range ruleTools(s.q.tool) {
		if i, ok := s.whole[tool]; ok {
			s.at = min(s.at, i)
		}
	}
	tool := s.q.tool
	if !strings.HasPrefix(tool, "mcp__") {
		return
	}
	for i := range len(tool) + 1 {
		if i == len(tool) || strings.HasPrefix(tool[i:], "__") {
			if at, ok := s.servers[tool[:i]]; ok {
				s.at = min(s.at, at)
			}
		}
	}
	s.try(s.prefixes)
}

func (s *search) host(might bool) {
	host, ok := s.q.host()
	if !ok {
		if might {
			s.at = min(s.at, s.firstHost)
		}
		return
	}
	for more := true; more; _, host, more = strings.Cut(host, ".") {
		s.try(s.hosts[host])
	}
}

func (s *search) named(n *nameIndex, might bool) {
	if n == nil {
		return
	}
	name, ok := s.q.name()
	if !ok {
		if might {
			s.at = min(s.at, n.first)
		}
		return
	}
	s.try(n.exact[strings.ToLower(name)])
	s.try(n.loose)
}

// mightCommands tries rules about commands by each text that a command can be taken
// for. A word with a hole in it may be any.
func (s *search) mightCommands() {
	script := s.q.commands()
	if script.opaque {
		s.at = min(s.at, s.bash[0])
		return
	}
	s.try(s.rows)
	for i := range script.commands {
		c := &script.commands[i]
		if c.long != "" {
			s.try(s.bash)
			return
		}
		s.mightText(c.raw, wildcard)
		for _, start := range c.starts {
			s.mightText(start, mightWild)
		}
	}
}

func (s *search) mightText(text string, match func(pattern, text string) bool) {
	try := func(places []int) {
		for _, i := range places {
			if i >= s.at {
				return
			}
			if match(s.rules[i].spec, text) {
				s.at = i
				return
			}
		}
	}
	name, last := firstWord(text), lastWord(text)
	if strings.IndexByte(name, hole) >= 0 {
		try(s.bash)
		return
	}
	try(s.commands[name])
	try(s.loose)
	if strings.IndexByte(last, hole) >= 0 {
		try(s.tails)
	} else {
		try(s.lasts[last])
	}
}

// findCommand returns the first rule that matches a command as it is written, or -1.
func (x *index) findCommand(raw string) int {
	s := &search{index: x, at: len(x.rules)}
	s.mightText(raw, wildcard)
	if s.at == len(x.rules) {
		return -1
	}
	return s.at
}

// mightPaths tries rules about files.
func (s *search) mightPaths(p *pathIndex, targets []target) {
	for _, t := range targets {
		if !t.sure {
			s.at = min(s.at, p.first)
			return
		}
	}
	s.try(p.moving)
	for _, t := range targets {
		t.any(func(name string) bool {
			p.lookUp(name, s.try)
			return false
		})
	}
}
