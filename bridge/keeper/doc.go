// Package keeper is the process above a remote bridge. `arbiter bridge --remote` is the keeper; it starts
// the bridge itself as a child, isolated as well as the host allows, and ensures that no two bridges work
// for one run:
//
//   - It reads the first line of the client, `initialize`, which names the run and the bridge, and passes it on.
//   - It takes a lock for both. If an earlier bridge holds it, that one is ended with all that it started, including
//     stopped processes, without waiting for an answer.
//   - It knows the bridge's lease. If the bridge does not end in time, because it is stopped or hangs, the keeper kills
//     it and all processes that bear its mark. The clock includes the time in which the machine slept.
//   - When the bridge has ended, for whatever reason, the keeper ends its remaining processes.
//
// Both hold the lock, so that it is free only when both have ended. If a keeper is killed, its bridge is
// killed, too (Linux: PR_SET_PDEATHSIG); on other systems the bridge notices at the next renewal of its
// lease ([Bridge].Gone).
//
// # Limits
//
// If keeper and bridge are stopped at the same time, the agents keep running while both are stopped. Agents
// cannot use tools then, since the bridge judges each call, and checks its lease first when it continues. A
// virtual machine that is paused from outside does not count the time: fence it with the host's `end`
// command.
package keeper
