package hosts

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Here is the name of the machine on which arbiter itself runs. It always exists and cannot be configured.
const Here = "here"

const (
	// DefaultSlots is how many Orchestrators a host runs at once if its configuration has no number.
	DefaultSlots = 4
	// MinLease is the shortest lease: shorter ones end with every hiccup of a network.
	MinLease = 5 * time.Second
	// MaxLease is the longest lease: the work of a lost host waits for its end.
	MaxLease = time.Hour
)

// Host is one machine.
type Host struct {
	Name    string
	Command []string // starts a program there; never empty
	Dir     string   // where work is kept there: absolute or below ~/; empty: the bridge chooses
	Slots   int      // Orchestrators at once, at least 1
	End     []string // ends all that Command started there; exit code 0 means that it has ended. Empty: none
	PassEnv []string // names of variables that agents there get from here

	Connect time.Duration // how long the bridge's first answer may take; 0: [Host.ConnectLimit] chooses
}

// ConnectLimit is how long the bridge's first answer may take: after that, the connection hangs. A command that waits
// in a queue, as srun does, may wait for a day.
func (h Host) ConnectLimit() time.Duration {
	queues := func(word string) bool { return path.Base(word) == "srun" }
	switch {
	case h.Connect > 0:
		return h.Connect
	case slices.ContainsFunc(h.Command, queues):
		return queueLimit
	}
	return connectLimit
}

const (
	connectLimit = 2 * time.Minute
	queueLimit   = 24 * time.Hour
)

// Pool is a name for several hosts.
type Pool struct {
	Name  string
	Hosts []string
}

// Config is what a configuration file says about hosts, in its order.
type Config struct {
	Hosts []Host
	Pools []Pool
}

// Find returns a configured host. [Here] is not configured.
func (c Config) Find(name string) (Host, bool) {
	i := slices.IndexFunc(c.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return c.Hosts[i], true
}

// PoolsOf returns the names of the pools that a host is in.
func (c Config) PoolsOf(host string) []string {
	var names []string
	for _, p := range c.Pools {
		if slices.Contains(p.Hosts, host) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Names returns the values for --hosts: hosts, pools and [Here].
func (c Config) Names() []string {
	names := []string{}
	for _, h := range c.Hosts {
		names = append(names, h.Name)
	}
	for _, p := range c.Pools {
		names = append(names, p.Name)
	}
	return append(names, Here)
}

// Selection is the hosts that a run may use.
type Selection struct {
	Hosts []Host // without doubles, in the order in which they were named
	Here  bool   // Orchestrators may run on this machine, too
}

// Choose reads a list of hosts and pools, separated by commas. An empty list chooses only this machine.
func (c Config) Choose(list string) (Selection, error) {
	if strings.TrimSpace(list) == "" {
		return Selection{Here: true}, nil
	}
	var s Selection
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		members := []string{name}
		if i := slices.IndexFunc(c.Pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
			members = c.Pools[i].Hosts
		}
		for _, member := range members {
			host, ok := c.Find(member)
			switch {
			case member == Here:
				s.Here = true
			case name == "":
				return Selection{}, errors.New("a name is empty: put one comma between two names")
			case !ok:
				return Selection{}, &UnknownError{Name: name, Known: c.Names()}
			case !slices.ContainsFunc(s.Hosts, func(h Host) bool { return h.Name == member }):
				s.Hosts = append(s.Hosts, host)
			}
		}
	}
	return s, nil
}

// oneOf names what can be chosen.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// UnknownError reports a name that is neither a host nor a pool.
type UnknownError struct {
	Name  string
	Known []string // the existing names
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no host or pool %q: use %s", e.Name, oneOf(e.Known))
}

var (
	nameForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	})
	variableForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	})
	wordForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9._/=:@%+,-]+$`)
	})
)

// CheckName reports why a name cannot be that of a host or a pool.
func CheckName(name string) error {
	switch {
	case name == Here:
		return fmt.Errorf("%q is this machine, which is always there: choose another name", name)
	case !nameForm().MatchString(name):
		return fmt.Errorf("%q is not a name: use 1 to 63 of the characters a-z, 0-9, dot, underscore and hyphen, and "+
			"begin with a letter or a digit", name)
	}
	return nil
}

// check reports the first problem of a host.
func (h Host) check() error {
	if err := CheckName(h.Name); err != nil {
		return err
	}
	if err := CheckCommand(h.Command); err != nil {
		return fmt.Errorf("the command: %w", err)
	}
	if h.Dir != "" {
		if err := checkDir(h.Dir); err != nil {
			return err
		}
	}
	if h.Slots < 1 {
		return fmt.Errorf("%d slots: want at least 1", h.Slots)
	}
	for _, name := range h.PassEnv {
		if err := checkVariable(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckWords reports the first word that must not be appended to a host's command: programs such as ssh
// pass it to a shell.
func CheckWords(words ...string) error {
	for _, word := range words {
		if !wordForm().MatchString(word) {
			return fmt.Errorf("%q cannot be sent to a host: only letters, digits and ._/=:@%%+,- are safe in a shell",
				word)
		}
	}
	return nil
}

// Argv returns the host's command followed by words, which must be safe ([CheckWords]).
func (h Host) Argv(words ...string) ([]string, error) {
	if err := CheckWords(words...); err != nil {
		return nil, err
	}
	return append(h.safeCommand(), words...), nil
}

// GitURL returns the address of a repository on the host, for Git's transport ext, which must be allowed for the call.
// path is absolute and made of safe characters. options are those of the git that serves it there, such as
// git.Serving().
func (h Host) GitURL(path string, options ...string) (string, error) {
	if err := CheckWords(append([]string{path}, options...)...); err != nil {
		return "", err
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("%q is not an absolute path", path)
	}
	words := []string{}
	for _, word := range slices.Concat(h.safeCommand(), []string{"git"}, options) {
		words = append(words, escapeExt.Replace(word))
	}
	return "ext::" + strings.Join(append(words, "%s", escapeExt.Replace(path)), " "), nil
}

// safeCommand returns the host's command. For OpenSSH it adds options that forward no key agent and never
// ask, whatever is configured.
func (h Host) safeCommand() []string {
	if args, yes := h.UsesSSH(); yes {
		return slices.Concat(h.Command[:1], []string{"-a", "-o", "BatchMode=yes"}, args)
	}
	return slices.Clone(h.Command)
}

// escapeExt writes a word for the transport ext: there, blanks separate words, and % begins an escape.
var escapeExt = strings.NewReplacer("%", "%%", " ", "% ")

// UsesSSH reports whether the host's command is OpenSSH's client, and returns its arguments.
func (h Host) UsesSSH() (args []string, yes bool) {
	program := h.Command[0]
	if i := strings.LastIndexByte(program, '/'); i >= 0 {
		program = program[i+1:]
	}
	return h.Command[1:], program == "ssh"
}
