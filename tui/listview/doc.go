// Package listview shows a long list of blocks in a window: a conversation, what an
// agent does, the logbook. The blocks come from a [Source] and are laid out when they
// come near the window, never before, so that a million of them cost what a screenful
// costs.
//
// A place is a block and a row of it, never a row of the whole: the height of the
// whole is unknown and not needed. The [View] follows the end until the
// reader goes elsewhere. From then on nothing that is added, and nothing that changes
// its height, moves the row at the top; a new width brings the reader to the text that
// stood there, and the old width back to the very row.
//
// Columns from the left: the gutter, in the speaker's role; a blank; tree marks, two
// columns a level; the text; at the right edge the bar. The text is drawn on a canvas
// of its own, so that nothing it holds reaches the gutter.
//
// Everything belongs to the goroutine that draws. Nothing here blocks, waits or starts
// a goroutine; a Source is asked from that goroutine alone.
package listview
