package host

// This part of the package opens the bridge of a run on another host and ends the processes that are left
// there. It also has the commands about hosts: list, add, remove, and check.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/hosts"
)

// LinkReport has the findings about a host.
type LinkReport struct {
	Host        string      `json:"host"`
	State       DoctorState `json:"state"` // the worst of all
	Findings    []Finding   `json:"findings"`
	OpenMS      int64       `json:"open_ms,omitempty"`       // until the bridge answered
	RoundTripMS float64     `json:"round_trip_ms,omitempty"` // median of several requests
}

// hostArea is the area of all findings about a host.
const hostArea = "host"

// LookAtHosts checks a host: the connection to it, and what is installed there. It ends with ctx, and reports what has
// not answered by then. It leaves nothing on the host.
func LookAtHosts(ctx context.Context, o Opening) LinkReport {
	r := LinkReport{Host: o.Host.Name, State: DoctorOK, Findings: []Finding{}}
	var keys, there, more []Finding
	var up bool
	var all sync.WaitGroup
	all.Go(func() { keys = sshFindings(ctx, o.Host) })
	all.Go(func() { there, up = o.bridgeFindings(ctx, &r) })
	all.Go(func() { more = o.commandFindings(ctx) })
	all.Wait()
	r.Findings = append(keys, there...)
	if up { // otherwise all would fail for the same reason
		r.Findings = append(r.Findings, more...)
	}
	weight := []DoctorState{DoctorOK, DoctorNote, DoctorWarn, DoctorFail}
	for _, f := range r.Findings {
		if slices.Index(weight, f.State) > slices.Index(weight, r.State) {
			r.State = f.State
		}
	}
	return r
}

func hostFinding(name string, state DoctorState, found, fix string) Finding {
	return Finding{Area: hostArea, Name: name, State: state, Found: found, Fix: fix}
}

// bridgeFindings opens the bridge, and reports what it finds. up says whether the bridge could be opened.
func (o Opening) bridgeFindings(ctx context.Context, r *LinkReport) (list []Finding, up bool) {
	var client *bridge.Client
	o.started = func(p *os.Process) { // ctx ends a process that does not answer
		context.AfterFunc(ctx, func() { _ = p.Kill() })
	}
	begin := time.Now()
	_, init, err := o.Open(ctx, func(c *bridge.Client) { client = c })
	if client != nil {
		defer client.Close()
	}
	r.OpenMS = time.Since(begin).Milliseconds()
	if err != nil {
		fix := "try it in a terminal: " + strings.Join(o.Host.Command, " ") + " arbiter version"
		var f *LinkFailure
		if errors.As(err, &f) && f.Category == bridge.CatTimeout {
			fix += "; --wait gives it more time"
		}
		return []Finding{hostFinding("bridge", DoctorFail, err.Error(), fix)}, false
	}
	trips := []time.Duration{}
	for range 5 {
		begin := time.Now()
		if _, err := client.Resolve(ctx, bridge.ResolveParams{Paths: []string{"/"}}); err != nil {
			break
		}
		trips = append(trips, time.Since(begin))
	}
	slices.Sort(trips)
	link := fmt.Sprintf("open after %d ms", r.OpenMS)
	if len(trips) > 0 {
		r.RoundTripMS = float64(trips[len(trips)/2].Microseconds()) / 1000
		link += fmt.Sprintf(", a request takes %.2f ms", r.RoundTripMS)
	}
	list = append(list, hostFinding("bridge", DoctorOK, link, ""),
		hostFinding("arbiter", DoctorOK, init.Version, ""),
		hostFinding("claude", DoctorOK, init.Claude.Version+" ("+init.Claude.Path+")", ""))
	if there := init.Remote; there != nil {
		list = append(list, hostFinding("machine", DoctorOK, there.Hostname+", "+there.OS+"/"+there.Arch, ""),
			hostFinding("directory", DoctorOK, there.Dir, ""))
		if there.Sandbox != "" {
			list = append(list, hostFinding("sandbox", DoctorOK, there.Sandbox, ""))
		} else {
			list = append(list, hostFinding("sandbox", DoctorNote, there.SandboxReason,
				"install bubblewrap there to use --sandbox"))
		}
	}
	return list, true
}

// commandFindings runs other programs on the host than the bridge.
func (o Opening) commandFindings(ctx context.Context) []Finding {
	var git, login Finding
	var both sync.WaitGroup
	both.Go(func() {
		out, err := o.run(ctx, "git", "version")
		if err != nil {
			git = hostFinding("git", DoctorFail, err.Error(), "install git there: work is moved with it")
			return
		}
		git = hostFinding("git", DoctorOK, strings.TrimPrefix(strings.TrimSpace(string(out)), "git version "), "")
	})
	both.Go(func() {
		out, err := o.run(ctx, "arbiter", "doctor", "--json", "--no-trial")
		var report DoctorReport
		if json.Unmarshal(out, &report) != nil { // doctor fails with bad findings, but prints them
			found := "not known: doctor did not answer"
			if ctx.Err() != nil {
				found += " in time"
			} else if err != nil {
				found = "not known: " + err.Error()
			}
			login = hostFinding("login", DoctorNote, found, "run there: arbiter doctor")
			return
		}
		i := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Name == "login" })
		if i < 0 {
			login = hostFinding("login", DoctorNote, "not known", "run there: arbiter doctor")
			return
		}
		f := report.Findings[i]
		if f.State == DoctorFail && len(o.Host.PassEnv) > 0 {
			f.State, f.Fix = DoctorNote, ""
			f.Found += "; agents get " + strings.Join(o.Host.PassEnv, ", ") + " from here"
		} else if f.Fix != "" {
			f.Fix = "run there: " + f.Fix
		}
		login = hostFinding("login", f.State, f.Found, f.Fix)
	})
	both.Wait()
	return []Finding{git, login}
}

// maxRemoteOutput bounds the output of a command on the host.
const maxRemoteOutput = 1 << 20

// run runs a command on the host.
func (o Opening) run(ctx context.Context, words ...string) ([]byte, error) {
	argv, err := o.Host.Argv(words...)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &cutBuffer{&stdout}, &cutBuffer{&stderr}, 100*time.Millisecond
	err = cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w %.200s", err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), err
}

// cutBuffer drops everything beyond maxSaidThere bytes.
type cutBuffer struct{ to *bytes.Buffer }

func (l *cutBuffer) Write(p []byte) (int, error) {
	l.to.Write(p[:min(len(p), maxRemoteOutput-l.to.Len())])
	return len(p), nil
}

// sshFindings reports how OpenSSH would treat the host's key and the user's key agent.
func sshFindings(ctx context.Context, h hosts.Host) []Finding {
	args, yes := h.UsesSSH()
	if !yes {
		return nil
	}
	out, err := exec.CommandContext(ctx, h.Command[0], append([]string{"-G"}, args...)...).Output()
	if err != nil {
		return []Finding{hostFinding("ssh", DoctorFail, "ssh -G: "+err.Error(), "check the words of its command")}
	}
	home, _ := os.UserHomeDir()
	c := hosts.ParseSSH(string(out), home)
	list := []Finding{hostKey(ctx, c)}
	if c.ForwardsAgent() {
		list = append(list, hostFinding("key agent", DoctorWarn, "ForwardAgent is on for this host; Arbiter turns it "+
			"off for its own connections", "turn it off in your ssh configuration: programs there can use your keys"))
	}
	if c.AcceptsAnyKey() {
		list = append(list, hostFinding("key check", DoctorWarn, "StrictHostKeyChecking is "+c.StrictKeys+": any host can "+
			"pretend to be this one", "remove it from your ssh configuration"))
	}
	return list
}

// hostKey looks for the host's key in the files of known hosts.
func hostKey(ctx context.Context, c hosts.SSHConfig) Finding {
	name := c.KeyName()
	for _, file := range c.KnownFiles {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if exec.CommandContext(ctx, "ssh-keygen", "-F", name, "-f", file).Run() == nil {
			return hostFinding("host key", DoctorOK, "known as "+name+" in "+file, "")
		}
	}
	if c.KeysByOther {
		return hostFinding("host key", DoctorOK, "checked by KnownHostsCommand", "")
	}
	return hostFinding("host key", DoctorWarn, "no key of "+name+" is known",
		"log in once in a terminal, compare the fingerprint, and accept it")
}
