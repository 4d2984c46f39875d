// Package keeper is the process above a remote bridge. `arbiter bridge --remote` is the keeper; it starts the bridge
// itself as a child, isolated as well as the host allows, and ensures that no two bridges work for one run:
//
//   - It reads the first line of the client, `initialize`, which names the run and the bridge, and hands it on.
//   - It takes a lock for both. If an earlier bridge holds it, that one is ended with all that it started, stopped
//     processes too, without waiting for an answer.
//   - It knows the bridge's lease. If the bridge does not end in time, because it is stopped or hangs, the keeper kills
//     it and all that bears its mark. The clock counts the time in which the machine slept.
//   - When the bridge has ended, however it did, the keeper ends what is left of it.
//
// Both hold the lock, so that it is free only when both have ended. A keeper that is killed takes the bridge with it
// (Linux: PR_SET_PDEATHSIG); on other systems the bridge notices at the next renewal of its lease ([Bridge].Gone).
//
// # Limits
//
// If keeper and bridge are stopped at the same time, the agents keep running while they stay stopped. Agents cannot use
// tools then, since each call is judged by the bridge, which asks its lease first when it continues. A virtual machine
// that is paused from outside counts no time: fence it with the host's `end` command.
package keeper
