package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// readPolicy reads the permission rules of a run.
func readPolicy(c *cli.Context, o runconfig.Options) (policy.Policy, error) {
	if runconfig.Mode(o.Permissions) == runconfig.ModeAllowAll && !c.Bool("i-accept-the-risk") {
		return policy.Policy{}, command.Usagef("--permissions allow-all lets every agent run anything without asking: add " +
			"--i-accept-the-risk to confirm")
	}
	return CheckRules(o)
}

// CheckRules checks the permission rules of options, and returns where they hold. An allow rule that Claude Code has
// no form for is an error, too: it would allow nothing.
func CheckRules(o runconfig.Options) (policy.Policy, error) {
	home, _ := os.UserHomeDir() // without one, rules with ~ match nothing
	p := policy.Policy{CWD: o.CWD, Home: home}
	for _, list := range ruleLists(o) {
		for _, text := range list.rules {
			rule, err := policy.ParseRule(text)
			if err == nil && list.flag == policy.Allow {
				_, err = rule.Native(policy.Allow, "/", home) // a notice tells of a directory that no rule can name
			}
			if err != nil {
				return p, command.Usagef("--%s %v", list.flag, err)
			}
		}
	}
	return p, nil
}

type ruleList struct {
	flag  string
	rules []string
}

func ruleLists(o runconfig.Options) []ruleList {
	return []ruleList{{policy.Allow, o.Allow}, {policy.Deny, o.Deny}, {policy.Ask, o.Ask}}
}

// UnknownTools returns a notice about rules whose tool does not exist: a typing error in --deny denies nothing. A
// later Claude Code may have such a tool, so they are not errors.
func UnknownTools(o runconfig.Options) string {
	var listed []string
	for _, list := range ruleLists(o) {
		for _, text := range list.rules {
			if rule, err := policy.ParseRule(text); err == nil && !rule.Known() {
				listed = append(listed, fmt.Sprintf("--%s %s", list.flag, rule))
			}
		}
	}
	if len(listed) == 0 {
		return ""
	}
	return "no tool of that name is known, so it may never apply: " + strings.Join(listed, ", ")
}

// RefuseRoot returns an error if root would let agents run everything without asking, unless arbiter's own sandbox
// confines them. Environment variables that claim that the machine is a sandbox do not count. The agents of a
// rehearsal follow its script, so they are allowed.
func RefuseRoot(o runconfig.Options, rehearse bool) error {
	return refuseUser(o, rehearse, os.Geteuid())
}

// RefuseRoot does the same before the sandbox was tried: a run that requires a sandbox does not start without it.
func (c *Choices) RefuseRoot(rehearse bool) error {
	o := c.Options
	if c.Sandbox.Mode == SandboxOn && o.Sandbox == nil {
		o.Sandbox = &bridge.SandboxConfig{}
	}
	return RefuseRoot(o, rehearse)
}

func refuseUser(o runconfig.Options, rehearse bool, uid int) error {
	if uid != 0 || rehearse || runconfig.Mode(o.Permissions) != runconfig.ModeAllowAll || o.Sandbox != nil {
		return nil
	}
	return command.Usagef("--permissions allow-all as root lets every agent do anything to this machine: run as another " +
		"user, add --sandbox on, or use --permissions ask with --allow rules")
}
