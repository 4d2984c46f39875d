// Package runhost is the process that hosts a run: it opens a new run or resumes one, plays it with its bridges,
// serves the clients of its control socket, and ends it in an orderly way. arbiter host and arbiter --json are that
// process.
//
// A hosted run consists of parts that own their state: the storage of the run (storage), the output of the process
// (diagnostics), its bridges, the sandbox and the files of its agents, and its interfaces to clients (frontends).
// The functions around a run are in other packages: halting, hostbridges, localbridge, agentport; runinput,
// runcontrol, runhooks, subscribers, terminals, eventboard; askmodel, trustgate, daybudget.
package runhost
