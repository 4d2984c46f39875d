package testkit

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Slurm is a cluster of two nodes, n1 and n2, on this machine.
type Slurm struct {
	Conf string // its slurm.conf
}

// Command returns the command of a node as a host. -u: unbuffered output; -Q: no messages of its own.
func (s Slurm) Command(node string) []string {
	return []string{"env", "SLURM_CONF=" + s.Conf, "srun", "-Q", "-n1", "-w", node, "-D", "/", "-u"}
}

// NewSlurm starts a cluster, sets SLURM_CONF for the test, and ends the cluster with the test.
func NewSlurm(t *testing.T) Slurm {
	t.Helper()
	needHosts(t, "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "srun", "sinfo", "runuser")
	dir := openDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	host := Must(os.Hostname())(t)
	for _, d := range []string{"state", "spool.n1", "spool.n2", "munge"} {
		OK(t, os.Mkdir(at(d), 0o755))
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	write(t, at("munge/key"), string(key))
	munge := Must(user.Lookup("munge"))(t)
	run(t, "chown", "-R", munge.Uid+":"+munge.Gid, at("munge"))
	run(t, "chmod", "600", at("munge/key"))
	s := Slurm{Conf: at("slurm.conf")}
	conf := fmt.Sprintf(slurmConf, host, FreePort(t), at("munge/socket"), dir)
	for _, node := range []string{"n1", "n2"} {
		conf += fmt.Sprintf("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=64 State=UNKNOWN\n", node, host,
			FreePort(t))
	}
	write(t, s.Conf, conf+"PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n")
	t.Setenv("SLURM_CONF", s.Conf)

	Serve(t, "", nil, "setpriv", "--reuid", munge.Uid, "--regid", munge.Gid, "--clear-groups", "/usr/sbin/munged",
		"--force", "--foreground", "--key-file="+at("munge/key"), "--socket="+at("munge/socket"),
		"--pid-file="+at("munge/pid"), "--log-file="+at("munge/log"), "--seed-file="+at("munge/seed"))
	Await(t, "munged", func() bool { _, err := os.Stat(at("munge/socket")); return err == nil })
	Serve(t, "Running as primary controller", nil, "/usr/sbin/slurmctld", "-D", "-f", s.Conf)
	for _, node := range []string{"n1", "n2"} {
		Serve(t, "slurmd started", nil, "/usr/sbin/slurmd", "-D", "-f", s.Conf, "-N", node)
	}
	Await(t, "two idle nodes", func() bool {
		out, _ := exec.Command("sinfo", "-h", "-N", "-o", "%t").Output()
		return strings.Count(string(out), "idle") == 2
	})
	t.Cleanup(func() { // a node that ends leaves the processes of its jobs running
		_ = exec.Command("scancel", "--user", "root").Run()
		Await(t, "the end of all jobs", func() bool { return len(s.Jobs(t)) == 0 })
	})
	return s
}

// Jobs returns the cluster's unfinished jobs, by their number.
func (s Slurm) Jobs(t testing.TB) map[int]string {
	t.Helper()
	jobs := map[int]string{}
	for line := range strings.Lines(run(t, "squeue", "-h", "-o", "%i %N")) {
		id, node, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(id); err == nil {
			jobs[n] = node
		}
	}
	return jobs
}

// slurmConf has placeholders for the machine's name, a port, the socket of munged and a directory.
const slurmConf = `ClusterName=arbiter
SlurmctldHost=%s(127.0.0.1)
SlurmctldPort=%d
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=%s
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
ReturnToService=2
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd.%%n.pid
SlurmdSpoolDir=%[4]s/spool.%%n
SlurmdParameters=config_overrides
SlurmUser=root
StateSaveLocation=%[4]s/state
SwitchType=switch/none
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=10
InactiveLimit=60
SlurmdTimeout=30
MessageTimeout=15
`
