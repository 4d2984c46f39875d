package hosts

import (
	"slices"
	"strings"
)

// SSHConfig is what OpenSSH's client would do, as `ssh -G` prints it.
type SSHConfig struct {
	Hostname     string
	Port         string
	User         string
	Alias        string   // HostKeyAlias
	KnownFiles   []string // of host keys, the user's first
	KeysByOther  bool     // KnownHostsCommand: keys come from a program
	ForwardAgent string   // yes, no, or the agent to forward
	StrictKeys   string   // StrictHostKeyChecking
}

// ParseSSH reads the output of `ssh -G`. home is that of the user.
func ParseSSH(text, home string) SSHConfig {
	var c SSHConfig
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "hostname":
			c.Hostname = value
		case "port":
			c.Port = value
		case "user":
			c.User = value
		case "hostkeyalias":
			c.Alias = value
		case "forwardagent":
			c.ForwardAgent = value
		case "stricthostkeychecking":
			c.StrictKeys = value
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
