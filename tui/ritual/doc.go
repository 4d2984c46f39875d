// Package ritual draws the agents of a run as figures: the Arbiter before its loom, and each Orchestrator
// on the ground beside it, joined to the loom by a thread. The ornament shows the real state: an agent that
// works has a tight thread along which light runs, one that waits has a loose thread, and one with a
// question raises a hand. A successor walks in, a predecessor walks off, the cloth on the loom grows with
// the plan, and it is night while all agents wait.
//
// A [Scene] is data, and [Scene.Draw] a pure function of it and of a frame's number, so the package needs
// no clock. With braille the figures are drawn in dots, with ASCII in letters. Few cells change between two
// frames: the scene costs little to send, and nothing while no agent works.
package ritual
