// Package render draws text into the cells of a screen. It uses roles, not colours: a [Theme] gives each
// [Role] its style, [Glyphs] each mark its shape, and a [Canvas] is the only way to the screen – it draws
// only whole grapheme clusters, inside its own rectangle.
//
// Text is cut, measured and wrapped here by the widths that tcell uses for drawing, so that measured and
// drawn widths agree. Markup of the widget library has no meaning here, and control characters are never
// drawn.
//
// What agents write, Markdown, code and differences, becomes lines of roles here: [Markdown], [Highlight], [Diff].
//
// Values are immutable after they are made; everything belongs to the goroutine that draws.
package render
