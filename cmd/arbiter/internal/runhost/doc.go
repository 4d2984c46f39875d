// Package runhost is the process that hosts a run: it opens a run or takes it up again, plays it with its bridges,
// serves the clients of its control socket, and ends it in order. arbiter host and arbiter --json are that process.
//
// A hosted run is made of parts that own their state: where the run is kept (storage), what the process logs
// (diagnostics), its bridges, the sandbox and the files of its agents, and what clients reach it by (frontends). What
// such parts do beside a run is in packages of its own: halting, hostbridges, localbridge, agentport; runinput,
// runcontrol, runhooks, subscribers, terminals, eventboard; askmodel, trustgate, daybudget.
package runhost
