// Package render draws text into the cells of a screen. It knows roles, not colours:
// a [Theme] gives each [Role] its style, [Glyphs] each mark its shape, and a [Canvas]
// is the one way to the screen – it draws whole grapheme clusters, inside its own
// rectangle, and nothing else.
//
// Text is cut, measured and wrapped here by the widths that tcell uses for drawing,
// so that what was measured is what is drawn. Markup of the widget library means
// nothing here, and control characters are not drawn even if they come this far.
//
// Values are immutable after they are made; everything belongs to the goroutine that
// draws.
package render
