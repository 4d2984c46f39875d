package hosts

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

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
			h.Dir = directory(f.Value)
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

func directory(v yamldoc.Value) string {
	dir := v.Text()
	if v.Kind() != yamldoc.Text {
		return ""
	}
	if err := checkDir(dir); err != nil {
		v.Errorf("%v", err)
	}
	return dir
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
				item.Errorf("there is no host %q: use %s", name, oneOf(c.hostNames()))
			}
			p.Hosts = append(p.Hosts, name)
		}
		if f.Kind() == yamldoc.List && len(p.Hosts) == 0 {
			f.Errorf("the pool is empty: name a host")
		}
		c.Pools = append(c.Pools, p)
	}
}

func (c *Config) hostNames() []string {
	names := []string{}
	for _, h := range c.Hosts {
		names = append(names, h.Name)
	}
	return append(names, Here)
}
