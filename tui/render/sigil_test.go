package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSigilFits(t *testing.T) {
	for _, g := range []*Glyphs{Unicode, ASCII} {
		l, most := &Look{Glyphs: g}, 0
		for w := -3; w < 140; w += 3 {
			for h := -3; h < 40; h++ {
				lines := l.Sigil(w, h)
				most = max(most, len(lines))
				if len(lines) > max(h, 0) {
					t.Fatalf("%d rows in %d", len(lines), h)
				}
				for i, line := range lines {
					if line.Width() > w || line.Width() != lines[0].Width() {
						t.Fatalf("row %d takes %d columns of %d", i, line.Width(), w)
					}
				}
				if len(lines) == 0 && w >= 26 && h >= 5 {
					t.Fatalf("nothing in %dx%d", w, h)
				}
			}
		}
		if most < 15 {
			t.Errorf("the largest has %d rows", most)
		}
	}
}

// Left and right are symmetric at every size: the eye looks straight ahead.
func TestSigilIsEven(t *testing.T) {
	l := &Look{Glyphs: Unicode}
	for h := sigilMinRows; h < 30; h++ {
		p := newPlate(h*7/2&^1, h)
		p.sigil()
		for y := range p.rows * 4 {
			for x := range p.columns {
				if a, b := p.values[y*p.columns*2+x], p.values[(y+1)*p.columns*2-1-x]; a != b {
					t.Fatalf("%d rows: dot %d,%d is %d, its mirror image %d", h, x, y, a, b)
				}
			}
		}
		if roles := rolesOf(l.Sigil(200, h)); !roles[Sigil] || !roles[SigilBright] {
			t.Errorf("%d rows: an eye without light", h)
		}
	}
}

func rolesOf(lines []Line) map[Role]bool {
	roles := map[Role]bool{}
	for _, l := range lines {
		for _, s := range l {
			roles[s.Role] = true
		}
	}
	return roles
}

func TestSigilGolden(t *testing.T) {
	var b strings.Builder
	for _, g := range []*Glyphs{Unicode, ASCII} {
		for _, h := range []int{25, 16, 7, 5} {
			fmt.Fprintf(&b, "%d rows\n", h)
			for _, l := range (&Look{Glyphs: g}).Sigil(200, h) {
				b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
			}
		}
	}
	file := filepath.Join("testdata", "sigil.golden")
	if os.Getenv("UPDATE_SIGIL") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the sigil is another one (-want +got, UPDATE_SIGIL=1 writes it):\n%s", diff)
	}
}
