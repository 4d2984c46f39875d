package backlog

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLimit: items beyond their limit, in items or in bytes, are dropped and counted; an item without a
// limit is never dropped.
func TestLimit(t *testing.T) {
	for _, limit := range []Limit{{Items: 3}, {Bytes: 30}, {Items: 3, Bytes: 1000}, {Items: 1000, Bytes: 39}} {
		q := New[int]()
		for i := range 10 {
			testkit.Same(t, fmt.Sprintf("%+v: item %d is added", limit, i), i < 3, q.Put(i, 10, limit))
		}
		testkit.Check(t, q.Put(10, 1000, Limit{}), "%+v: an item without a limit was left out", limit)
		n, bytes := q.Waiting()
		testkit.Check(t, n == 4 && bytes == 1030, "%+v: %d items of %d bytes wait", limit, n, bytes)
		all := q.All()
		testkit.Check(t, slices.Equal(all, []int{0, 1, 2, 10}), "%+v: %v wait", limit, all)
		items, dropped, more := q.Take(0)
		testkit.Check(t, slices.Equal(items, []int{0, 1, 2, 10}) && dropped == 7 && !more,
			"%+v: taken %v, %d left out, more: %v", limit, items, dropped, more)
		n, bytes = q.Waiting()
		testkit.Check(t, n == 0 && bytes == 0, "%+v: %d items of %d bytes wait in an empty queue", limit, n, bytes)
	}
}

// TestLargeItem: an empty queue accepts an item of any size, so that no item waits forever.
func TestLargeItem(t *testing.T) {
	q := New[string]()
	testkit.Check(t, q.Put("large", 100, Limit{Bytes: 10}) && !q.Put("next", 1, Limit{Bytes: 10}),
		"not the first item alone was added")
}

// TestTakeSome: items come in order, in batches; the dropped items are reported once, with the last batch.
func TestTakeSome(t *testing.T) {
	q := New[int]()
	for i := range 7 {
		q.Put(i, 1, Limit{Items: 5})
	}
	for _, want := range []struct {
		items   []int
		dropped int
		more    bool
	}{{[]int{0, 1}, 0, true}, {[]int{2, 3}, 0, true}, {[]int{4}, 2, false}, {nil, 0, false}} {
		items, dropped, more := q.Take(2)
		testkit.Check(t, slices.Equal(items, want.items) && dropped == want.dropped && more == want.more,
			"taken %v, %d left out, more: %v; want %+v", items, dropped, more, want)
	}
}

// TestConsumerIsWoken: a consumer that waits for Wake receives all items of several producers, each
// producer's items in order. Afterwards Room has a value.
func TestConsumerIsWoken(t *testing.T) {
	const producers, each = 4, 1000
	q := New[[2]int]()
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				q.Put([2]int{p, i}, 1, Limit{})
			}
		})
	}
	next := [producers]int{}
	for got := 0; got < producers*each; {
		<-q.Wake()
		for more := true; more; {
			var items [][2]int
			items, _, more = q.Take(10)
			for _, item := range items {
				if next[item[0]] != item[1] {
					t.Fatalf("producer %d: item %d comes, want %d", item[0], item[1], next[item[0]])
				}
				next[item[0]]++
				got++
			}
		}
	}
	wg.Wait()
	select {
	case <-q.Taken():
	default:
		t.Error("items were taken, and nobody who waits for room hears of it")
	}
}
