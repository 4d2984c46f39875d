// Package tile draws what agents do while they do it: one tile for each, with its last lines, the calls
// that run, its subagents and its figures; and the board that contains the tiles.
//
// A tile is a pure function from a [Tile] to lines. The texts of a Tile are fit for a screen; no line is
// wider than requested, and there are no more lines than requested.
package tile
