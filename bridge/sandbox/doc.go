// Package sandbox confines the processes of agents with bubblewrap: it builds the command line, and tests
// that the sandbox holds.
//
// # What is confined
//
// The root is read-only. Writable are the workspace, the paths that the configuration names, the paths that
// the CLI itself needs (transcripts, sessions; see [bridge.SandboxConfig]), and temporary directories that
// are private to each process tree and disappear with it. Hidden are files with credentials (see
// mounts.go), the sockets of daemons through which agents could act outside, and the paths that the
// configuration hides, above all arbiter's own state and sockets. Code that others run later cannot be
// planted in the usual places: the hooks and the configuration of a repository, its submodules and its
// worktrees are read-only, the directories that contain them cannot be moved away, and the CLI's settings,
// agents, skills and plugins are read-only, too. Each process tree has its own shell snapshots and similar
// files, which tool shells of other sessions run. A home directory, or a directory in a hidden one, is
// refused as a workspace.
//
// Agents own the workspace. Running something in it outside of the sandbox – a Makefile, a test, .envrc,
// tasks of an editor – means running what an agent may have written. The same holds for running git there:
// a repository inside of it (a fake submodule, a commondir, a bare repository) has a configuration of its
// own. Arbiter's own inspections of it are confined in the same way as agents.
//
// What programs outside obey by themselves in a workspace is read-only, too, unless the configuration names it
// (unattended.go). A link cannot be guarded in a directory that is writable, only its target can: [Watch] reports it if
// it was replaced. Caches of tools are private: their variables lead to a temporary directory.
//
// The network inside is a loopback interface of its own: no service and no abstract socket of this computer can be
// reached, and no address elsewhere. With a [Gate], a proxy outside connects to listed hosts ([egress]); an entry
// program ([Enter]) makes its listeners inside before the process begins, and hands them out. A process can send
// anything to a host that it may reach, the API included. Only sockets that a network namespace confines can be
// made, and no io_uring, which would make others (seccomp_linux.go).
//
// The CLI's tools can read the credentials that the CLI reads: it is one process tree of one user.
//
// # How it is enforced
//
// Mounts are made in the order of their depth, so that what is inside of a hidden or private directory can
// be shown again, and what is inside of a writable one hidden. The sandbox has a user namespace of its own,
// also for root, without capabilities: /proc and /sys are read-only, mounts cannot be undone, and processes
// outside cannot be inspected. If a process makes a user namespace for itself, that inherits the mounts,
// locked together. Files of other users appear as owned by nobody, and no process can become another user
// (sudo does not work).
//
// # Processes
//
// Bubblewrap stays as a monitor above the one process that it confines, in the same process group. A TERM would
// end the monitor, so signals must go to the other members of the group ([proctree.StartMonitored]). There is a PID
// namespace with a /proc of its own. Its first process, bubblewrap again, ignores what others send it, and the kernel
// kills all others when it ends: when the confined process has ended, or when the bridge has (--die-with-parent; the
// thread that forks exists as long as its children). Seen from outside, all of them are descendants as usual. The CLI
// names files after its pid (observed with CLI 2.1.329): the directory of these files is private.
//
// # Scratch copies
//
// [StartScratch] runs a check so that nothing that it does can leave: it needs no question. This program starts
// itself in a mount namespace of its own (for others than root, with a user namespace), mounts an overlay over
// each directory that the check can write to, and becomes bubblewrap. A copy is seen under the path of the
// original, with its ignored and untracked files; changes are in memory, up to a limit that all copies and
// temporary directories share, and gone at the end. Copies are the workspace with its .git, what the configuration
// lets agents write to, and the caches of tools (scratch.go). A repository outside of these, as of a linked
// worktree, is read-only. There is no network except a loopback interface of its own, and no process outside is
// seen. The CLI's configuration is hidden, and so is each unix socket that has a name at the start. As for agents,
// the rest of the home directory can be read.
//
// Limits: a named pipe outside of the copies, and a unix socket that is bound during the check or in another
// network namespace, can be written to if the user may. What agents change during the check may be seen by it. A
// directory in which another file system is mounted cannot be copied. For others than root, files of a group that
// is not the user's first cannot be changed, and Linux 6.6 is needed.
//
// # The probe
//
// [Verify] runs a probe with the same command line. Its report counts only together with what is observed
// from outside: the file that it had to write exists, the files that it must not write do not, and its
// mounts and capabilities differ from ours. It runs once more in a scratch copy, where what it writes must not be seen
// outside. The package has no goroutines.
package sandbox
