// Package leash owns processes: it starts children in groups of their own, and
// it finds and ends everything that descends from them, also what left the
// group.
//
// Why a group is not enough: the Claude CLI runs each Bash tool in a session of
// its own (setsid), so a signal to the CLI's group never reaches the tools, and
// what the model daemonised (`nohup x &`) survives every ending of the CLI
// (observed with CLI 2.1.329). So there are three nets, each for what slips
// through the one before:
//
//   - the process group of the child ([Child.Signal]);
//   - ancestry: all that descends from the child now ([Child.Kill]). A process
//     that called [Become] is a subreaper, so orphans stay below it;
//   - a mark in the environment (ARBITER_RUN, ARBITER_AGENT), inherited by all
//     that did not clear it ([Sweep], [Survivors]).
//
// Killing stops a tree first (SIGSTOP until no new member shows up) and kills it
// then, again until nothing is left, so that a fork storm cannot outrun it. A
// process is identified by pid and start time, and signalled through a pidfd
// where the kernel has them: a recycled pid is never hit.
//
// # Goroutines
//
// Each Child has one goroutine, the only one that calls cmd.Wait; it ends when
// the child has. [Become] starts one that reaps adopted orphans, each by its
// pid, never by wait4(-1), which would steal exit statuses from os/exec; the
// function Become returns stops it and waits for it. A process that has become
// the subreaper must start every child that gets a process group of its own
// through [Start], so that the reaper can tell children from orphans.
//
// # Other systems
//
// Without /proc and subreapers only the process group is there: Become does
// nothing, Kill reaches the group, Sweep and Survivors find nobody.
package leash
