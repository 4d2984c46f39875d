// Package proctree owns trees of processes: it starts children in process groups of their own, and finds
// and ends everything that descends from them, even what left the group.
//
// A group is not enough: the Claude CLI runs each Bash tool in a session of its own (setsid), so a signal
// to the CLI's group never reaches the tools, and processes that the model daemonises (`nohup x &`) survive
// the CLI (observed with CLI 2.1.329). So there are five mechanisms, each for processes that escape the one
// before:
//
//   - the process group of the child ([Child.Signal]);
//   - ancestry: all current descendants of the child ([Child.Kill]). A process that called
//     [BecomeSubreaper] is a subreaper, so orphans stay below it;
//   - a mark in the environment (ARBITER_RUN, ARBITER_AGENT), inherited by all that did not clear
//     it ([Sweep], [Survivors]). At the next start it also identifies processes that outlived a run
//     whose own processes were all killed ([SweepStrays]);
//   - the kernel's signal to children when their parent ends (Linux, PR_SET_PDEATHSIG): even if the
//     subreaper and all processes above it are killed, the kernel sends its children a TERM. They
//     are started on one thread that exists as long as they do, since the end of that thread is
//     what sends the signal. [Tie] does the same for a command that its caller waits for;
//   - a PID namespace around the subreaper, where the system allows one ([Isolate],
//     [EnterNamespace]): when the subreaper ends, the kernel kills all others at once.
//
// To kill a tree, the package stops it first (SIGSTOP until no new member shows up), kills it, and repeats
// that until nothing is left, so that a fork storm cannot outrun it. Processes that are born during a scan
// are scanned before it ends, so that a process that starts the next one and ends cannot escape either. A
// process is identified by pid and start time, and signalled through a pidfd where the kernel has them: a
// recycled pid is never hit.
//
// With [InheritLock] and [HoldInheritedLock] the subreaper holds its run's lock until it ends, so that the
// lock shows whether an earlier subreaper has ended.
//
// # In a PID namespace
//
// The subreaper is process 1 there. KILL and STOP from inside do not reach it; other signals do, and if one
// ends it, all other processes end. Agents see only the namespace's processes: they cannot inspect, debug
// or stop other processes of the user, and mounts that they make disappear with them. Pids that a bridge
// reports are those of the namespace. With a user namespace ([ModeAlways], if privileges are missing)
// programs such as sudo gain no privileges, and other users' files appear as owned by nobody.
//
// # Goroutines
//
// Each Child has one goroutine, the only one that calls cmd.Wait; it ends when the child has. One more,
// with a thread to itself, starts children; it ends with the last of them. [BecomeSubreaper] starts one
// that reaps adopted orphans, each by its pid, never by wait4(-1), which would steal exit statuses from
// os/exec; the function that BecomeSubreaper returns stops it and waits for it. A process that has become
// the subreaper must start every child that gets a process group of its own through [Start], so that the
// reaper can tell children from orphans. [AdoptOrphans] is for the process above, and starts none.
//
// # Limits
//
// Without a namespace, if the subreaper and the process above it are killed together, its children get a
// TERM, and a CLI then ends its tools within seconds. Daemonised processes and processes that ignore TERM
// keep running: those with the mark are found at the next start, those that cleared their environment are
// not. Processes in a sandbox have a PID namespace, which ends with its monitor. A process of another user
// (by sudo) can be neither read nor signalled by an unprivileged process; a namespace ends it, too. A
// process that an agent has started through an outside daemon (docker, systemd, at) never was a descendant.
//
// # macOS
//
// macOS has no subreaper, no pidfd, no namespaces and no /proc. There the searches use sysctl: ancestry
// works while the parents run, and for remembered processes ([Child.Remember]). launchd adopts an orphan,
// which is found by its mark if the system shows the environment (that of the user's own processes, not of
// the system's programs). Between inspecting a process and signalling it there is a moment in which its pid
// could be reused. BecomeSubreaper, AdoptOrphans and Isolate do nothing.
package proctree
