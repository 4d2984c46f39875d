// Package listview shows a long list of blocks in a window: a conversation, what an agent does, the
// logbook. The blocks come from a [Source] and are laid out only when they come near the window, so that a
// million of them cost as much as a screenful.
//
// A place is a block and a row of it, never a row of the whole: the height of the whole is unknown and not
// needed. The [View] follows the end until the reader moves elsewhere. From then on nothing that is added,
// and no change of height, moves the row at the top; after a change of width the view shows the text that
// was there, and after a change back the very same row.
//
// Columns from the left: the gutter, in the speaker's role; a blank; tree marks, two columns a level; the
// text; at the right edge the bar. The text is drawn on a canvas of its own, so that none of it reaches the
// gutter.
//
// Everything belongs to the goroutine that draws. Nothing here blocks, waits or starts a goroutine; the
// methods of a Source are called only on that goroutine.
package listview
