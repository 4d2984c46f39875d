package decider

import (
	"container/list"
	"sync"
)

// MemoryStore keeps the most recently used decisions, up to a number.
type MemoryStore struct {
	mu    sync.Mutex
	max   int
	byKey map[string]*list.Element // of remembered
	order *list.List               // most recently used first
}

type remembered struct {
	key      string
	decision Decision
}

// NewMemoryStore keeps at most n decisions; n ≤ 0: [DefaultStoreSize].
func NewMemoryStore(n int) *MemoryStore {
	if n <= 0 {
		n = DefaultStoreSize
	}
	return &MemoryStore{max: n, byKey: map[string]*list.Element{}, order: list.New()}
}

// Get implements [Store].
func (s *MemoryStore) Get(key string) (Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byKey[key]
	if !ok {
		return Decision{}, false
	}
	s.order.MoveToFront(e)
	return e.Value.(remembered).decision, true
}

// Put implements [Store].
func (s *MemoryStore) Put(key string, d Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		e.Value = remembered{key, d}
		s.order.MoveToFront(e)
		return
	}
	s.byKey[key] = s.order.PushFront(remembered{key, d})
	for s.order.Len() > s.max {
		oldest := s.order.Back()
		delete(s.byKey, s.order.Remove(oldest).(remembered).key)
	}
}

// Len is how many decisions it contains.
func (s *MemoryStore) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Len()
}
