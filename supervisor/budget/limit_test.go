package budget

import "testing"

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		spent, limit float64
		want         string
	}{
		{5, 0, ""}, {0, 5, ""}, {3.99, 5, ""}, {4, 5, LevelWarn}, {4.99, 5, LevelWarn}, {5, 5, LevelLimit},
		{9, 5, LevelLimit},
	} {
		if got := Level(c.spent, c.limit); got != c.want {
			t.Errorf("$%v of $%v: %q, want %q", c.spent, c.limit, got, c.want)
		}
	}
}
