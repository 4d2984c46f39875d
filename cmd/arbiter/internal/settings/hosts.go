package settings

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ConfiguredHosts reads the hosts from the user's own configuration file, and returns its path and content. A
// missing file has no hosts.
func ConfiguredHosts(c *cli.Context) (cfg hosts.Config, file string, src []byte, err error) {
	file = UserConfig(c.String("config"))
	if file == "" {
		return cfg, "", nil, command.Environmentf("there is no place for your configuration: set HOME, or name a file with " +
			"--config")
	}
	src, err = command.ReadFile(file, command.MaxSource)
	if os.IsNotExist(err) {
		return cfg, file, nil, nil
	}
	if err != nil {
		return cfg, file, nil, command.Usagef("cannot read the configuration %s: %v", file, command.WithoutPath(err))
	}
	if cfg, err = hosts.Read(file, src); err != nil {
		return cfg, file, src, command.Usagef("%v", err)
	}
	return cfg, file, src, nil
}

// readHosts reads the configured hosts and makes, and the hosts that --hosts selects.
func (s *Choices) readHosts(c *cli.Context) error {
	if UserConfig(c.String("config")) == "" && c.String("hosts") == "" {
		return nil
	}
	var file string
	var src []byte
	var err error
	if s.Hosts, file, src, err = ConfiguredHosts(c); err != nil {
		return err
	}
	if err := parseMakes(file, src, &s.Options); err != nil {
		return command.Usagef("%v", err)
	}
	chosen, err := s.Hosts.Choose(c.String("hosts"))
	if err != nil {
		return command.Usagef("--hosts %q: %v (arbiter hosts add NAME -- COMMAND… adds a host)", c.String("hosts"), err)
	}
	s.Options.HereToo = chosen.Here && len(chosen.Hosts) > 0
	for _, h := range chosen.Hosts {
		s.Options.Hosts = append(s.Options.Hosts, runconfig.Host{Name: h.Name, Slots: h.Slots, Dir: h.Dir})
	}
	for _, p := range s.Hosts.Pools {
		if members := slices.DeleteFunc(slices.Clone(p.Hosts), func(name string) bool {
			return !allowedHost(&s.Options, name)
		}); len(members) > 0 {
			s.Options.Pools = append(s.Options.Pools, runconfig.Pool{Name: p.Name, Hosts: members})
		}
	}
	if len(s.Options.Hosts) == 0 {
		s.Options.Pools = nil
	}
	return nil
}

func allowedHost(o *runconfig.Options, name string) bool {
	return name == hosts.Here && o.HereToo ||
		slices.ContainsFunc(o.Hosts, func(h runconfig.Host) bool { return h.Name == name })
}

// HostsConfigured returns an error if the user's configuration no longer has the hosts of a run.
func (s Choices) HostsConfigured() error {
	var missing []string
	for _, h := range s.Options.Hosts {
		if _, ok := s.Hosts.Find(h.Name); !ok {
			missing = append(missing, h.Name)
		}
	}
	if len(missing) > 0 {
		return command.Usagef("the run uses hosts that your configuration does not have: %s; add them (arbiter hosts add "+
			"NAME -- COMMAND…), or choose others with --hosts", strings.Join(missing, ", "))
	}
	return nil
}

// hostSchemas adds hosts and pools to the properties of the configuration's JSON Schema.
func hostSchemas(props map[string]any) {
	text := map[string]any{"type": "string"}
	words := map[string]any{"type": "array", "items": text, "minItems": 1}
	describe := func(schema map[string]any, about string) map[string]any {
		out := map[string]any{"description": about}
		for k, v := range schema {
			out[k] = v
		}
		return out
	}
	props["hosts"] = map[string]any{
		"type":        "object",
		"description": "machines on which Orchestrators can run, by name; in your own configuration only",
		"additionalProperties": map[string]any{
			"type": "object", "required": []string{"command"}, "additionalProperties": false,
			"properties": map[string]any{
				"command": describe(words, "the words that start a program there, such as [ssh, box]"),
				"dir":     describe(text, "where work is kept there: an absolute path, or one below ~/"),
				"slots": map[string]any{"type": "integer", "minimum": 1, "default": hosts.DefaultSlots,
					"description": "how many Orchestrators may run there at once"},
				"end": describe(words, "a command that ends everything that was started there, at once; exit code 0 "+
					"means that it has ended"),
				"connect": describe(text, "how long connecting may take, such as 90s (default: 2m; a day if the command runs "+
					"srun, which waits in a queue)"),
				"pass_env": map[string]any{"type": "array", "items": text,
					"description": "names of environment variables that agents there get from here"},
			},
		},
	}
	props["pools"] = map[string]any{"type": "object", "additionalProperties": words,
		"description": fmt.Sprintf("names for several hosts each; %s is this machine; in your own configuration only",
			hosts.Here)}
}
