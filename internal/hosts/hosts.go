package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
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
				return Selection{}, fmt.Errorf("there is no host or pool %q: use %s", name, oneOf(c.Names()))
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

// safeCommand returns the host's command. For OpenSSH it adds options that forward no key agent, never ask, and leave
// no process that serves other connections, whatever is configured: such a process, which would end as an orphan of the
// run, takes the user's own connections with it.
func (h Host) safeCommand() []string {
	if args, yes := h.UsesSSH(); yes {
		return slices.Concat(h.Command[:1], []string{"-a", "-o", "BatchMode=yes", "-o", "ControlMaster=no"},
			args)
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

// Keys are the keys of the configuration file that this package reads.
var Keys = []string{"hosts", "pools"}

// Read reads the hosts and pools of a configuration file and ignores its other keys. The error joins all
// problems, each with its place in the file.
func Read(file string, src []byte) (Config, error) {
	doc, err := yamldoc.Parse(file, src)
	if err != nil {
		return Config{}, err
	}
	var c Config
	var pools []yamldoc.Value
	for _, v := range doc.Values() {
		for _, f := range v.Fields("lines of the form `key: value`") {
			switch f.Key {
			case "hosts":
				c.readHosts(f.Value)
			case "pools":
				pools = append(pools, f.Value)
			}
		}
	}
	for _, v := range pools { // the file may have them first
		c.readPools(v)
	}
	return c, doc.Err()
}

func (c *Config) readHosts(v yamldoc.Value) {
	if v.Kind() == yamldoc.Nothing { // the last one was removed
		return
	}
	for _, f := range v.Fields("a mapping of names to hosts") {
		if err := CheckName(f.Key); err != nil {
			f.Errorf("%v", err)
			continue
		}
		c.Hosts = append(c.Hosts, readHost(f))
	}
}

func readHost(v yamldoc.Field) Host {
	h := Host{Name: v.Key, Slots: DefaultSlots}
	for _, f := range v.Fields("a mapping such as {command: [ssh, box]}") {
		switch f.Key {
		case "command":
			h.Command = command(f.Value)
		case "dir":
			if h.Dir = f.Text(); f.Kind() == yamldoc.Text {
				if err := checkDir(h.Dir); err != nil {
					f.Errorf("%v", err)
				}
			}
		case "slots":
			h.Slots = f.Integer(1)
		case "end":
			h.End = command(f.Value)
		case "connect":
			h.Connect = f.Duration()
		case "pass_env":
			h.PassEnv = variables(f.Value)
		default:
			f.Errorf("unknown field %q; a host takes command, dir, slots, end, connect and pass_env", f.Key)
		}
	}
	if v.Kind() == yamldoc.Mapping && h.Command == nil {
		v.Errorf("command is missing: name the words that start a program there, such as [ssh, box]")
	}
	return h
}

// command reads a list of words that starts a program; never nil.
func command(v yamldoc.Value) []string {
	if v.Kind() == yamldoc.Text {
		text, _ := v.Scalar()
		v.Errorf("want a list of words, found a text: write [%s]", strings.Join(strings.Fields(text), ", "))
		return []string{}
	}
	words := v.Texts()
	if v.Kind() == yamldoc.List {
		if err := CheckCommand(words); err != nil {
			v.Errorf("%v", err)
		}
	}
	return slices.Concat([]string{}, words)
}

// CheckCommand reports why words cannot be the command of a host.
func CheckCommand(words []string) error {
	if len(words) == 0 {
		return errors.New("it is empty: name the words that start a program there, such as [ssh, box]")
	}
	for _, word := range words {
		if word == "" {
			return errors.New("a word is empty")
		}
		if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%q has a control character", word)
		}
	}
	if strings.HasPrefix(words[0], "-") {
		return fmt.Errorf("%q is not a program", words[0])
	}
	return nil
}

func checkDir(dir string) error {
	below, home := strings.CutPrefix(dir, "~/")
	switch {
	case !home && !strings.HasPrefix(dir, "/"):
		return fmt.Errorf("%q is neither an absolute path nor one below ~/", dir)
	case path.Clean("/"+below) == "/" || slices.Contains(strings.Split(dir, "/"), ".."):
		return fmt.Errorf("%q does not work: name a directory of its own, without '..'", dir)
	}
	if err := CheckWords(strings.TrimPrefix(dir, "~")); err != nil {
		return fmt.Errorf("%q: only letters, digits and ._/=:@%%+,- are safe in a shell", dir)
	}
	return nil
}

func variables(v yamldoc.Value) []string {
	var names []string
	for _, item := range v.Items("a list of names") {
		name := item.Text()
		if err := checkVariable(name); item.Kind() == yamldoc.Text && err != nil {
			item.Errorf("%v", err)
		}
		names = append(names, name)
	}
	return names
}

func checkVariable(name string) error {
	if !variableForm().MatchString(name) {
		return fmt.Errorf("%q is not the name of a variable: values are never written here", name)
	}
	return nil
}

func (c *Config) readPools(v yamldoc.Value) {
	if v.Kind() == yamldoc.Nothing {
		return
	}
	for _, f := range v.Fields("a mapping of names to lists of hosts") {
		if err := CheckName(f.Key); err != nil {
			f.Errorf("%v", err)
			continue
		}
		if _, ok := c.Find(f.Key); ok {
			f.Errorf("%q is a host already: choose another name", f.Key)
		}
		p := Pool{Name: f.Key}
		for _, item := range f.Items("a list of hosts") {
			name := item.Text()
			if _, ok := c.Find(name); !ok && name != Here && item.Kind() == yamldoc.Text {
				item.Errorf("there is no host %q: use %s", name, oneOf(Config{Hosts: c.Hosts}.Names()))
			}
			p.Hosts = append(p.Hosts, name)
		}
		if f.Kind() == yamldoc.List && len(p.Hosts) == 0 {
			f.Errorf("the pool is empty: name a host")
		}
		c.Pools = append(c.Pools, p)
	}
}

// Add returns a configuration file with one more host, after the others. All other keys, and hosts on lines of their
// own, stay as they are.
func Add(file string, src []byte, h Host) ([]byte, error) {
	before, err := Read(file, src)
	if err != nil {
		return nil, err
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	if slices.Contains(before.Names(), h.Name) {
		return nil, fmt.Errorf("there is a host or pool %q already: arbiter hosts rm %[1]s removes a host", h.Name)
	}
	want := Config{Hosts: append(slices.Clone(before.Hosts), h), Pools: before.Pools}
	return edit(file, src, want, func(l layout) []byte { return l.add(h) })
}

// Remove returns a configuration file without a host and its comments. What else stays is as for [Add]. A host that a
// pool names is not removed.
func Remove(file string, src []byte, name string) ([]byte, error) {
	before, err := Read(file, src)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(before.Hosts, func(h Host) bool { return h.Name == name })
	pools := before.PoolsOf(name)
	switch {
	case name == Here:
		return nil, fmt.Errorf("%q is this machine: it cannot be removed", name)
	case i < 0:
		return nil, fmt.Errorf("there is no host %q in %s; arbiter hosts lists them", name, file)
	case len(pools) > 0:
		return nil, fmt.Errorf("the pool %s names %s: take it out there first", strings.Join(pools, ", "), name)
	}
	want := Config{Hosts: slices.Delete(slices.Clone(before.Hosts), i, i+1), Pools: before.Pools}
	return edit(file, src, want, func(l layout) []byte { return l.remove(i) })
}

// edit returns a configuration file that means want. change edits hosts on lines of their own; hosts in braces are
// written anew, on one line. The new text is parsed: it is used only if it has the intended meaning.
func edit(file string, src []byte, want Config, change func(layout) []byte) ([]byte, error) {
	l, inline, err := layoutOf(src)
	if err != nil {
		return nil, err
	}
	var out []byte
	if inline {
		first := l.key.Key.GetToken().Position.Line
		last := l.endOf(first, l.after)
		if last > first && bytes.Contains(bytes.Join(l.lines[first-1:last], nil), []byte("#")) {
			return nil, yamldoc.ErrForm // its comments would be lost
		}
		list := make([]string, len(want.Hosts))
		for i, h := range want.Hosts {
			list[i] = h.Name + ": {" + strings.Join(h.fields(), ", ") + "}"
		}
		out, err = yamldoc.Edit(src, "hosts", "{"+strings.Join(list, ", ")+"}")
	} else {
		out = change(l)
	}
	got, problem := Read(file, out)
	if len(want.Hosts) == 0 {
		want.Hosts = nil
	}
	if err != nil || problem != nil || !reflect.DeepEqual(got, want) {
		return nil, yamldoc.ErrForm
	}
	return out, nil
}

// layout describes where in a file the hosts are.
type layout struct {
	lines [][]byte              // with their ends
	key   *ast.MappingValueNode // of hosts; nil: it does not exist
	after int                   // line of the next key, from 1; 0: there is none
	hosts []*ast.MappingValueNode
}

// layoutOf returns where the hosts are. inline: they are in braces.
func layoutOf(src []byte) (l layout, inline bool, err error) {
	l = layout{lines: slices.Collect(bytes.Lines(src))}
	root, err := yamldoc.Root(src)
	if err != nil {
		return l, false, err
	}
	for i, pair := range root {
		if pair.Key.GetToken().Value != "hosts" {
			continue
		}
		l.key = pair
		if i+1 < len(root) {
			l.after = root[i+1].Key.GetToken().Position.Line
		}
		var ok bool
		if l.hosts, inline, ok = yamldoc.Pairs(pair.Value); !ok {
			return l, false, yamldoc.ErrForm
		}
	}
	return l, inline, nil
}

func (l layout) add(h Host) []byte {
	if l.key == nil {
		return l.replace(len(l.lines), len(l.lines), "hosts:\n"+h.lines("  "))
	}
	indent := "  "
	if len(l.hosts) > 0 {
		indent = strings.Repeat(" ", l.hosts[0].Key.GetToken().Position.Column-1)
	}
	end := l.endOf(l.key.Key.GetToken().Position.Line, l.after)
	return l.replace(end, end, h.lines(indent))
}

// endOf returns the last line of the text that begins in a line, before the line next, or before the end of the file if
// that is 0. Blank lines and comments after it are not part of it.
func (l layout) endOf(first, next int) int {
	last := len(l.lines)
	if next > 0 {
		last = next - 1
	}
	for last > first && (len(l.line(last)) == 0 || l.comment(last)) {
		last--
	}
	return last
}

// line returns the text of a line, from 1, without blanks around it.
func (l layout) line(n int) []byte { return bytes.TrimSpace(l.lines[n-1]) }

func (l layout) comment(n int) bool { return bytes.HasPrefix(l.line(n), []byte("#")) }

// replace puts text in the place of the lines after the line from, up to the line to.
func (l layout) replace(from, to int, text string) []byte {
	if before := bytes.Join(l.lines[:from], nil); text != "" && from > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		text = "\n" + text
	}
	return slices.Concat(bytes.Join(l.lines[:from], nil), []byte(text), bytes.Join(l.lines[to:], nil))
}

func (l layout) remove(i int) []byte {
	next := l.after
	if i+1 < len(l.hosts) {
		next = l.hosts[i+1].Key.GetToken().Position.Line
	}
	first := l.hosts[i].Key.GetToken().Position.Line
	end := l.endOf(first, next)
	for first > 1 && l.comment(first-1) {
		first--
	}
	return l.replace(first-1, end, "")
}

// lines returns the host on lines of its own.
func (h Host) lines(indent string) string {
	text := indent + h.Name + ":\n"
	for _, f := range h.fields() {
		text += indent + "  " + f + "\n"
	}
	return text
}

func (h Host) fields() []string {
	list := []string{"command: " + wordList(h.Command)}
	if h.Dir != "" {
		list = append(list, "dir: "+yamldoc.EditedText(h.Dir))
	}
	if h.Slots != DefaultSlots {
		list = append(list, "slots: "+strconv.Itoa(h.Slots))
	}
	if len(h.End) > 0 {
		list = append(list, "end: "+wordList(h.End))
	}
	if h.Connect > 0 {
		list = append(list, "connect: "+h.Connect.String())
	}
	if len(h.PassEnv) > 0 {
		list = append(list, "pass_env: "+wordList(h.PassEnv))
	}
	return list
}

func wordList(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = yamldoc.EditedText(word)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// SSHConfig is what OpenSSH's client would do, as `ssh -G` prints it.
type SSHConfig struct {
	Hostname     string
	Port         string
	Alias        string   // HostKeyAlias
	KnownFiles   []string // of host keys, the user's first
	KeysByOther  bool     // KnownHostsCommand: keys come from a program
	ForwardAgent string   // yes, no, or the agent to forward
	StrictKeys   string   // StrictHostKeyChecking
}

// ParseSSH reads the output of `ssh -G`. home is that of the user.
func ParseSSH(text, home string) SSHConfig {
	var c SSHConfig
	texts := map[string]*string{"hostname": &c.Hostname, "port": &c.Port, "hostkeyalias": &c.Alias,
		"forwardagent": &c.ForwardAgent, "stricthostkeychecking": &c.StrictKeys}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch to := texts[key]; key {
		default:
			if to != nil {
				*to = value
			}
		case "knownhostscommand":
			c.KeysByOther = value != "none" && value != ""
		case "userknownhostsfile", "globalknownhostsfile":
			for file := range strings.FieldsSeq(value) {
				if below, ok := strings.CutPrefix(file, "~/"); ok {
					file = home + "/" + below
				}
				if file != "none" && file != "/dev/null" {
					c.KnownFiles = append(c.KnownFiles, file)
				}
			}
		}
	}
	return c
}

// KeyName returns the name of the host in files of known hosts.
func (c SSHConfig) KeyName() string {
	switch {
	case c.Alias != "":
		return c.Alias
	case c.Port == "" || c.Port == "22":
		return c.Hostname
	}
	return "[" + strings.Trim(c.Hostname, "[]") + "]:" + c.Port
}

// ForwardsAgent reports whether the configuration forwards the key agent. Arbiter itself never does.
func (c SSHConfig) ForwardsAgent() bool {
	return !slices.Contains([]string{"no", "", "false"}, c.ForwardAgent)
}

// AcceptsAnyKey reports whether the configuration accepts a host's key without asking. A new key may be accepted
// without asking (accept-new), a changed one not.
func (c SSHConfig) AcceptsAnyKey() bool {
	return slices.Contains([]string{"no", "off", "false"}, c.StrictKeys)
}

// Failure is why a host could not be reached, as far as the output of its command shows.
type Failure struct {
	Fix string // what to do; empty: unknown
	// Permanent failures recur at the next attempt: a person has to do something first.
	Permanent bool
}

// failures are known messages of ssh, srun, podman, kubectl and shells, and their meaning. The first match
// counts.
var failures = []struct {
	words string
	Failure
}{
	{"agent refused operation", Failure{"unlock your key agent (ssh-add), then try again", true}},
	{"sign_and_send_pubkey", Failure{"unlock your key agent (ssh-add), then try again", true}},
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", Failure{"the host has another key than the one that you know: " +
		"ask who runs it, and only then remove the old key with ssh-keygen -R", true}},
	{"Host key verification failed", Failure{"its key is not known here: log in once in a terminal, compare the " +
		"fingerprint, and accept it", true}},
	{"host key is known for", Failure{"its key is not known here: log in once in a terminal, compare the fingerprint, " +
		"and accept it", true}},
	{"Permission denied (", Failure{"the login was refused: try the command in a terminal; if your key has a " +
		"passphrase, unlock it with ssh-add", true}},
	{"Too many authentication failures", Failure{"name the key to use: IdentityFile and IdentitiesOnly in your ssh " +
		"configuration", true}},
	{"unknown flag --remote", Failure{"arbiter on the host is older: install the version that runs here", true}},
	{"Invalid node name", Failure{"Slurm has no such node: sinfo lists them", true}},
	{"invalid partition", Failure{"Slurm has no such partition: sinfo lists them", true}},
	{"Could not establish a configuration source", Failure{"Slurm is not configured on this machine: set SLURM_CONF, " +
		"or put env SLURM_CONF=FILE before srun", true}},
	{"image not known", Failure{"pull or build the image first", true}},
	{"no such image", Failure{"pull or build the image first", true}},
	{"(NotFound)", Failure{"Kubernetes has no such pod: kubectl get pods lists them", false}}, // one may follow it
	{"container not found", Failure{"the pod has no such container, or it has ended: see kubectl describe pod", false}},
	{"must be logged in to the server", Failure{"log in to the cluster", true}},
	{"(Forbidden)", Failure{"your cluster account is not allowed to do this", true}},
	{"Could not resolve hostname", Failure{"check the host's name and your network", false}},
	{"Connection refused", Failure{"check that its server runs, and the port", false}},
	{"Connection timed out", Failure{"check your network, and that the host is up", false}},
	{"No route to host", Failure{"check your network, and that the host is up", false}},
	{"Network is unreachable", Failure{"check your network", false}},
}

const installThere = "install arbiter on the host, on the PATH of commands that run without a login shell"

// noArbiter is what shells, env, srun, podman and docker say about a program that is missing on the host.
var noArbiter = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\barbiter\b.*(not found|no such file)|not found: arbiter\b|unknown command: arbiter\b`)
})

// Explain interprets the error of a host's command that did not start, or failed with output on stderr.
func Explain(err error) Failure {
	switch start, ok := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, exec.ErrNotFound):
		return Failure{"the first word of its command is not installed on this machine", true}
	case ok && start.Op == "fork/exec":
		short := []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} // this machine lacks something
		if slices.ContainsFunc(short, func(e error) bool { return errors.Is(err, e) }) {
			return Failure{}
		}
		return Failure{"the first word of its command cannot be run on this machine", true}
	}
	text := err.Error()
	for _, f := range failures {
		if strings.Contains(text, f.words) {
			return f.Failure
		}
	}
	if noArbiter().MatchString(text) {
		return Failure{installThere, true}
	}
	return Failure{}
}
