package hosts

import (
	"errors"
	"io/fs"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

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
	var start *fs.PathError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return Failure{"the first word of its command is not installed on this machine", true}
	case errors.As(err, &start) && start.Op == "fork/exec":
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
