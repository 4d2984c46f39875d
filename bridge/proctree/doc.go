// Package proctree owns trees of processes: it starts children in process groups of their own, and
// finds and ends everything that descends from them, even what left the group.
//
// A group is not enough: the Claude CLI runs each Bash tool in a session of its own (setsid), so a
// signal to the CLI's group never reaches the tools, and processes that the model daemonises
// (`nohup x &`) survive the CLI (observed with CLI 2.1.329). So there are five mechanisms, each for
// processes that escape the one before:
//
//   - the process group of the child ([Child.Signal]);
//   - ancestry: all that descends from the child now ([Child.Kill]). A process that called
//     [BecomeSubreaper] is a subreaper, so orphans stay below it;
//   - a mark in the environment (ARBITER_RUN, ARBITER_AGENT), inherited by all that did not clear
//     it ([Sweep], [Survivors]). It also finds, at the next start, what outlived a run whose
//     processes were all killed ([SweepStrays]);
//   - the kernel's signal to children when their parent ends (Linux, PR_SET_PDEATHSIG): even if the
//     subreaper and all processes above it are killed, the kernel sends its children a TERM. They
//     are started on one thread that exists as long as they do, since the end of that thread is
//     what sends the signal;
//   - a PID namespace around the subreaper, where the system allows one ([Isolate],
//     [EnterNamespace]): when the subreaper ends, the kernel kills all others at once.
//
// To kill a tree, the package stops it first (SIGSTOP until no new member shows up), kills it, and
// repeats that until nothing is left, so that a fork storm cannot outrun it. Processes that are born
// during a scan are scanned before it ends, so that a process that starts the next one and ends
// cannot escape either. A process is identified by pid and start time, and signalled through a pidfd
// where the kernel has them: a recycled pid is never hit.
//
// [InheritLock] and [HoldInheritedLock] let the subreaper hold its run's lock for as long as it
// lives, so that the lock reports whether an earlier one is gone.
//
// # In a PID namespace
//
// The subreaper is process 1 there. KILL and STOP from inside do not reach it; other
// signals do, and one that ends it ends all. Agents see the namespace's processes
// only: they cannot look at, debug or stop what else the user runs, and mounts
// they make are gone with them. Pids that a bridge reports are the namespace's.
// With a user namespace ([ModeAlways], where privileges are missing) programs such
// as sudo gain nothing, and other users' files appear as owned by nobody.
//
// # Goroutines
//
// Each Child has one goroutine, the only one that calls cmd.Wait; it ends when
// the child has. One more, with a thread to itself, starts children; it ends with the
// last of them. [BecomeSubreaper] starts one that reaps adopted orphans, each by its
// pid, never by wait4(-1), which would steal exit statuses from os/exec; the
// function BecomeSubreaper returns stops it and waits for it. A process that has become
// the subreaper must start every child that gets a process group of its own
// through [Start], so that the reaper can tell children from orphans. [AdoptOrphans] is
// for the process above, and starts none.
//
// # Limits
//
// Without a namespace, if the subreaper and the process above it are killed together, its
// children are asked to end, and a CLI then ends its tools within seconds. Daemonised processes,
// processes that ignore TERM and those confined by a sandbox's monitor keep running: those with
// the mark are found at the next start, those that cleared their environment are not. A process of another user (by
// sudo) can be neither read nor signalled by an unprivileged process; a namespace ends it, too. What an agent has
// started through a daemon outside (docker, systemd, at) never was a descendant.
//
// # Other systems
//
// macOS has no subreaper, no pidfd, no namespaces and no /proc. There the searches
// ask sysctl: ancestry works while the parents live, and for what was remembered
// ([Child.Remember]); an orphan goes to launchd and is found by its mark, where the
// system shows the environment (of the user's own processes, not of the system's
// programs). Between looking at a process and signalling it there is a moment in
// which its pid could be used again. BecomeSubreaper, AdoptOrphans and Isolate do nothing.
//
// On other systems there are only process groups: Kill reaches the group, and the
// searches find nothing.
package proctree
