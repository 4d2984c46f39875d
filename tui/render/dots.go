package render

// Dots is a drawing of dots, two by four per cell, in braille characters. A dot has a value that says to
// what it belongs; 0 is not a dot. The highest value in a cell determines how the cell is drawn.
type Dots struct {
	columns, rows int
	values        []uint8
}

// NewDots returns an empty drawing of so many cells.
func NewDots(columns, rows int) *Dots { return &Dots{columns, rows, make([]uint8, columns*rows*8)} }

// Set gives a dot a value, unless it has a higher one. Dots outside are ignored.
func (d *Dots) Set(x, y int, value uint8) {
	if x >= 0 && y >= 0 && x < d.columns*2 && y < d.rows*4 {
		dot := &d.values[y*d.columns*2+x]
		*dot = max(*dot, value)
	}
}

// Erase removes a dot.
func (d *Dots) Erase(x, y int) {
	if x >= 0 && y >= 0 && x < d.columns*2 && y < d.rows*4 {
		d.values[y*d.columns*2+x] = 0
	}
}

// Lines returns the rows of the drawing. roles are those of the values, from 0 on.
func (d *Dots) Lines(roles ...Role) []Line {
	bits := [8]rune{0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80}
	lines := make([]Line, d.rows)
	for row := range d.rows {
		for column := range d.columns {
			glyph, best := rune(0x2800), uint8(0)
			for i, bit := range bits {
				if v := d.values[(row*4+i/2)*d.columns*2+column*2+i%2]; v != 0 {
					glyph, best = glyph|bit, max(best, v)
				}
			}
			text := string(glyph)
			if best == 0 {
				text = " "
			}
			lines[row] = lines[row].Append(roles[best], text)
		}
	}
	return lines
}
