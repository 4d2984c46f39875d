package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

const sample = `# mine
model: opus
pools:
  gpus: [n1, n2, here]
hosts:
  box: {command: [ssh, -o, "BatchMode yes", box]}
  n1: # first node
    command: [srun, -Q, -n1, -w, n1]
    dir: ~/arbiter work
    slots: 8
    connect: 1m30s
  n2: {command: [srun, -w, n2], dir: /scratch/me, end: [scancel, --name, arbiter], pass_env: [ANTHROPIC_API_KEY]}
`

var good = strings.Replace(sample, "arbiter work", "arbiter", 1)

func TestRead(t *testing.T) {
	got := testkit.Must(Read("f.yaml", []byte(good)))(t)
	want := Config{
		Hosts: []Host{
			{Name: "box", Command: []string{"ssh", "-o", "BatchMode yes", "box"}, Slots: DefaultSlots},
			{Name: "n1", Command: []string{"srun", "-Q", "-n1", "-w", "n1"}, Dir: "~/arbiter", Slots: 8,
				Connect: 90 * time.Second},
			{Name: "n2", Command: []string{"srun", "-w", "n2"}, Dir: "/scratch/me", Slots: DefaultSlots,
				End: []string{"scancel", "--name", "arbiter"}, PassEnv: []string{"ANTHROPIC_API_KEY"}},
		},
		Pools: []Pool{{"gpus", []string{"n1", "n2", Here}}},
	}
	testkit.Same(t, "", want, got)
	for _, src := range []string{"", "model: x\n", "hosts:\npools:\n"} {
		c, err := Read("f.yaml", []byte(src))
		testkit.Check(t, err == nil && c.Hosts == nil && c.Pools == nil, "%q: %v, %v", src, c, err)
	}
}

// TestConnectLimit: a host that waits in a queue has more time, unless the configuration says how much.
func TestConnectLimit(t *testing.T) {
	for command, want := range map[string]time.Duration{"ssh box": 2 * time.Minute, "srun -n1": 24 * time.Hour,
		"env SLURM_CONF=/s /usr/bin/srun -n1": 24 * time.Hour} {
		h := Host{Command: strings.Fields(command)}
		testkit.Same(t, command, want, h.ConnectLimit())
		if h.Connect = time.Second; h.ConnectLimit() != time.Second {
			t.Errorf("%s: %s", command, h.ConnectLimit())
		}
	}
}

// TestInvalidHostsFiles: each mistake is reported with its place and what to do.
func TestInvalidHostsFiles(t *testing.T) {
	for src, want := range map[string]string{
		"hosts: [box]": "f.yaml:1: hosts: want a mapping of names to hosts, " +
			"found a list",
		"hosts: {here: {command: [ssh, x]}}": `hosts.here: "here" is this machine`,
		"hosts: {Box: {command: [ssh, x]}}":  `"Box" is not a name`,
		"hosts: {box: ssh}": "hosts.box: want a mapping such as {command: [ssh, " +
			"box]}, found a text",
		"hosts: {box: {}}": "hosts.box: command is missing",
		"hosts: {box: {command: ssh box}}": "hosts.box.command: want a list of words, found a text: " +
			"write [ssh, box]",
		"hosts: {box: {command: []}}":                            "hosts.box.command: it is empty",
		"hosts: {box: {command: [ssh, '']}}":                     "a word is empty",
		"hosts: {box: {command: [-x]}}":                          `"-x" is not a program`,
		"hosts: {box: {command: [ssh, \"a\\nb\"]}}":              "control character",
		"hosts: {box: {command: [ssh, 7]}}":                      "hosts.box.command[1]: want a text, found a number",
		"hosts: {box: {command: [ssh], connect: soon}}":          "hosts.box.connect: want a duration",
		"hosts: {box: {command: [ssh], slots: 0}}":               "hosts.box.slots: want a whole number from 1",
		"hosts: {box: {command: [ssh], port: 1}}":                `unknown field "port"; a host takes command, dir, slots, end, connect and pass_env`,
		"hosts: {box: {command: [ssh], dir: work}}":              "neither an absolute path nor one below ~/",
		"hosts: {box: {command: [ssh], dir: ~/}}":                "name a directory of its own",
		"hosts: {box: {command: [ssh], dir: /a/../b}}":           "without '..'",
		"hosts: {box: {command: [ssh], dir: /a b}}":              "safe in a shell",
		"hosts: {box: {command: [ssh], pass_env: [A=b]}}":        "not the name of a variable",
		"pools: {a: [box]}":                                      `pools.a[0]: there is no host "box": use here`,
		"pools: {a: []}":                                         "pools.a: the pool is empty",
		"hosts: {a: {command: [x]}}\npools: {a: [a]}":            `pools.a: "a" is a host already`,
		"hosts: {a: {command: [x]}, a: {command: [y]}}":          "given twice",
		"hosts: {a: {command: [x]}}\nhosts: {b: {command: [y]}}": "given twice",
	} {
		testkit.Fails(t, src, testkit.Err(Read("f.yaml", []byte(src))), want)
	}
}

func TestChoose(t *testing.T) {
	c := testkit.Must(Read("f.yaml", []byte(good)))(t)
	for list, want := range map[string]string{
		"": "here", " ": "here", "box": "box", "box, n1,box": "box n1", "gpus": "n1 n2 here", "here,box": "box here",
		"gpus,box": "n1 n2 box here", "here": "here", "n2,gpus": "n2 n1 here",
		"mars": `there is no host or pool "mars": use one of box, n1, n2, gpus, here`,
		"box,": `a name is empty: put one comma between two names`,
	} {
		s, err := c.Choose(list)
		got := []string{}
		for _, h := range s.Hosts {
			got = append(got, h.Name)
		}
		if s.Here {
			got = append(got, Here)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		testkit.Same(t, list, want, strings.Join(got, " "))
	}
	got := c.PoolsOf("n2")
	testkit.Check(t, len(got) == 1 && got[0] == "gpus" && c.PoolsOf("box") == nil, "pools of n2: %v", got)
}

func TestCommands(t *testing.T) {
	h := Host{Command: []string{"/usr/bin/ssh", "-o", "ProxyCommand nc %h 22", "box"}}
	argv, err := h.Argv("arbiter", "bridge", "--remote")
	if err != nil || strings.Join(argv, "|") != "/usr/bin/ssh|-a|-o|BatchMode=yes|-o|ControlMaster=no|-o|"+
		"ProxyCommand nc %h 22|box|arbiter|bridge|--remote" {
		t.Errorf("%q, %v", argv, err)
	}
	url, err := h.GitURL("/home/me/cache.git")
	testkit.Check(t, err == nil &&
		url == "ext::/usr/bin/ssh -a -o BatchMode=yes -o ControlMaster=no -o ProxyCommand% nc% %%h% 22 box git %s "+
			"/home/me/cache.git",
		"%s, %v", url, err)
	for _, word := range []string{"", "a b", "$(x)", "a;b", "`x`", "~", "é", "a\nb", "'", `"`, "*", "\\"} {
		testkit.Fails(t, fmt.Sprintf("%q is taken", word), testkit.Err(h.Argv("arbiter", word)))
		_, err := h.GitURL("/" + word)
		testkit.Check(t, err != nil || word == "", "a repository in /%s is taken", word)
	}
	testkit.Fails(t, "a relative path is taken", testkit.Err(h.GitURL("cache.git")))
	args, yes := h.UsesSSH()
	testkit.Check(t, yes && len(args) == 3, "%q, %t", args, yes)
	_, yes = (Host{Command: []string{"srun"}}).UsesSSH()
	testkit.Check(t, !yes, "srun is taken for ssh")
}

func TestSSHConfig(t *testing.T) {
	c := ParseSSH("user me\nhostname 10.0.0.7\nport 2222\nforwardagent /run/agent\nstricthostkeychecking false\n"+
		"globalknownhostsfile /etc/ssh/ssh_known_hosts none\nuserknownhostsfile ~/.ssh/known_hosts /dev/null\n", "/home/me")
	testkit.Check(t, c.KeyName() == "[10.0.0.7]:2222" && c.ForwardsAgent() && c.AcceptsAnyKey() &&
		strings.Join(c.KnownFiles, " ") == "/etc/ssh/ssh_known_hosts /home/me/.ssh/known_hosts", "%+v", c)
	for text, want := range map[string]string{
		"hostname box\nport 22\n": "box", "hostname box\nport 2\nhostkeyalias b": "b", "hostname ::1\nport 7\n": "[::1]:7",
	} {
		c := ParseSSH(text, "")
		testkit.Check(t, c.KeyName() == want && !c.ForwardsAgent() && !c.AcceptsAnyKey(),
			"%q: %q, want %q; %+v", text, c.KeyName(), want, c)
	}
}

func TestExplain(t *testing.T) {
	for text, want := range map[string]Failure{
		"exit status 255: me@box: Permission denied (publickey).": {Permanent: true, Fix: "ssh-add"},
		"exit status 255: Host key verification failed.":          {Permanent: true, Fix: "compare the fingerprint"},
		"ssh: connect to host box port 22: Connection refused":    {Fix: "check that its server runs"},
		`Error from server (NotFound): pods "x" not found`:        {Fix: "kubectl get pods"},
		"srun: fatal: Could not establish a configuration source": {Permanent: true, Fix: "SLURM_CONF"},
		"the bridge ended: exit status 255":                       {},
		"arbiter: 3 agents were found":                            {},
	} {
		got := Explain(errors.New(text))
		testkit.Check(t, got.Permanent == want.Permanent && strings.Contains(got.Fix, want.Fix) &&
			(want.Fix != "" || got.Fix == ""), "%s: %+v", text, got)
	}
	for _, text := range []string{
		"exit status 127: bash: line 1: arbiter: command not found", "sh: 1: arbiter: not found",
		"zsh:1: command not found: arbiter", "arbiter: Command not found.", "fish: Unknown command: arbiter",
		"env: 'arbiter': No such file or directory", "env: ‘arbiter’: No such file or directory",
		"slurmstepd: error: execve(): arbiter: No such file or directory",
		`OCI runtime exec failed: exec failed: exec: "arbiter": executable file not found in $PATH: unknown`,
		"Error: crun: executable file `arbiter` not found in $PATH: No such file or directory",
	} {
		got := Explain(errors.New(text))
		testkit.Check(t, got.Permanent && strings.Contains(got.Fix, "install arbiter on the host"), "%s: %+v", text, got)
	}
}

// TestExplainStart: a program that this machine does not have is for a human; a lack of processes or memory passes.
func TestExplainStart(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "ssh")
	testkit.OK(t, os.WriteFile(notExecutable, nil, 0o755))
	for _, c := range []struct {
		err  error
		want Failure
	}{
		{exec.Command("sshh").Run(), Failure{Permanent: true, Fix: "not installed on this machine"}},
		{exec.Command(notExecutable).Run(), Failure{Permanent: true, Fix: "cannot be run on this machine"}},
		{&fs.PathError{Op: "fork/exec", Path: "/ssh", Err: syscall.EAGAIN}, Failure{}},
	} {
		got := Explain(fmt.Errorf("start bridge: %w", c.err))
		testkit.Check(t, got.Permanent == c.want.Permanent && strings.Contains(got.Fix, c.want.Fix) &&
			(c.want.Fix != "" || got.Fix == ""), "%v: %+v", c.err, got)
	}
}

var added = Host{Name: "new", Command: []string{"ssh", "-p", "2222", "me@new", `a "b"`}, Dir: "~/w", Slots: 2,
	End: []string{"true"}, PassEnv: []string{"KEY"}}

const addedLines = `  new:
    command: [ssh, -p, "2222", me@new, "a \"b\""]
    dir: ~/w
    slots: 2
    end: ["true"]
    pass_env: [KEY]
`

// TestAdd: the host is written after the others, and nothing else changes.
func TestAdd(t *testing.T) {
	const host = "  box:\n    command: [ssh, box]\n"
	inline := `new: {command: [ssh, -p, "2222", me@new, "a \"b\""], dir: ~/w, slots: 2, end: ["true"], pass_env: [KEY]}`
	for src, want := range map[string]string{
		"":                      "hosts:\n" + addedLines,
		"# only a comment":      "# only a comment\nhosts:\n" + addedLines,
		"model: opus # mine":    "model: opus # mine\nhosts:\n" + addedLines,
		"hosts:\nmodel: opus\n": "hosts:\n" + addedLines + "model: opus\n",
		"hosts: # all\n" + host: "hosts: # all\n" + host + addedLines,
		"hosts:\n" + host + "\n# about models\nmodel: opus\n": "hosts:\n" + host + addedLines +
			"\n# about models\nmodel: opus\n",
		"hosts:\n    a: {command: [x]} # that\n\nmodel: opus": "hosts:\n    a: {command: [x]} # that\n" +
			strings.ReplaceAll("  "+strings.TrimSuffix(addedLines, "\n"), "\n", "\n  ") + "\n\nmodel: opus",
		"hosts: {}\n":     "hosts: {" + inline + "}\n",
		"hosts: {é: x}\n": "",
		"hosts: {a: {command: [b], connect: 90s}} # ü\n": "hosts: {a: {command: [b], connect: 1m30s}, " + inline +
			"} # ü\n",
		"hosts: {\n a: {command: [x]}\n}\nx: 1": "hosts: {a: {command: [x]}, " + inline + "}\nx: 1",
	} {
		out, err := Add("f.yaml", []byte(src), added)
		testkit.Check(t, (string(out) == want || want == "") && (err != nil) == (want == ""),
			"%q: %v\ngot:\n%s\nwant:\n%s", src, err, out, want)
	}
	for src, want := range map[string]string{
		"hosts: {new: {command: [x]}}":                        `there is a host or pool "new" already`,
		"hosts: {a: {command: [x]}}\npools: {new: [a]}":       `there is a host or pool "new" already`,
		"hosts: {a: {command: x}}":                            "want a list of words",
		"{hosts: {a: {command: [x]}}}":                        yamldoc.ErrForm.Error(),
		"hosts: {\n # mine\n a: {command: [x]}}\n":            yamldoc.ErrForm.Error(),
		"hosts: &a\n  b: {command: [x]}\n":                    yamldoc.ErrForm.Error(),
		"---\nhosts: {a: {command: [x]}}\n---\nmodel: opus\n": yamldoc.ErrForm.Error(),
	} {
		testkit.Fails(t, src, testkit.Err(Add("f.yaml", []byte(src), added)), want)
	}
}

// TestRemove: the host and its comments are removed, and nothing else changes.
func TestRemove(t *testing.T) {
	const a, b = "  # first\n  a:\n    command: [x]\n    # inside\n    slots: 2\n", "  # second\n  b: {command: [z]} # b\n"
	for _, x := range []struct{ src, name, want string }{
		{"hosts:\n" + a + "\n" + b + "model: x\n", "a", "hosts:\n\n" + b + "model: x\n"},
		{"hosts:\n" + a + "\n" + b + "\n# about\nmodel: x\n", "b", "hosts:\n" + a + "\n\n# about\nmodel: x\n"},
		{"hosts:\n" + b, "b", "hosts:\n"},
		{"model: x\nhosts:\n" + a + strings.TrimSuffix(b, "\n"), "b", "model: x\nhosts:\n" + a},
		{"hosts: {a: {command: [x]}, b: {command: [z]}}\n", "a", "hosts: {b: {command: [z]}}\n"},
		{"hosts: {a: {command: [x]}, b: {command: [z]}}\n", "b", "hosts: {a: {command: [x]}}\n"},
		{"hosts: {a: {command: [ü]}} # c\n", "a", "hosts: {} # c\n"},
	} {
		out, err := Remove("f.yaml", []byte(x.src), x.name)
		testkit.Check(t, err == nil && string(out) == x.want,
			"%s of %q: %v\n%s\nwant:\n%s", x.name, x.src, err, out, x.want)
	}
	src := []byte("hosts: {a: {command: [x]}}\npools: {p: [a]}\n")
	for name, want := range map[string]string{
		"a": "the pool p names a", "b": `there is no host "b" in f.yaml; arbiter hosts lists them`,
		Here: "it cannot be removed",
	} {
		testkit.Fails(t, name, testkit.Err(Remove("f.yaml", src, name)), want)
	}
}

// FuzzEdit: what was added can be removed again, and then the file is as before except for white space.
func FuzzEdit(f *testing.F) {
	f.Add(good, "ssh", "box")
	f.Add("hosts: {}\n", "a b", `"\'`)
	f.Add("hosts:\n  a: {command: [x]}\n  # end\n", "ä", "#: {}[]")
	f.Fuzz(func(t *testing.T, src, one, two string) {
		h := Host{Name: "new", Command: []string{one, two}, Slots: DefaultSlots}
		with, err := Add("f.yaml", []byte(src), h)
		if errors.Is(err, yamldoc.ErrForm) || err != nil {
			return
		}
		c, err := Read("f.yaml", with)
		testkit.Need(t, err == nil && len(c.Hosts) != 0, "what was written cannot be read: %v\n%s", err, with)
		got, ok := c.Find("new")
		testkit.Need(t, ok && got.Command[0] == one && got.Command[1] == two, "%q, want %q %q", got.Command, one, two)
		_, err = Remove("f.yaml", with, "new")
		testkit.Need(t, err == nil || errors.Is(err, yamldoc.ErrForm), "it cannot be removed: %v\n%s", err, with)
	})
}
