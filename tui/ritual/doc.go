// Package ritual draws the agents of a run as figures: the Arbiter before its loom, and each Orchestrator on the
// ground beside it, joined to the loom by a thread. It is an ornament that tells the truth: who works has a tight
// thread along which light runs, who waits lets it hang, who has a question raises a hand; a successor comes, a
// predecessor walks off, the cloth on the loom grows with the plan, and it is night while everybody waits.
//
// A [Scene] is data and [Scene.Draw] a pure function of it and of a frame's number, so that nothing here has a clock.
// With braille the figures are drawn in dots, with ASCII in letters. Between two frames a few cells change: the scene
// costs little to send, and nothing while nobody works.
package ritual
