package history

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// numbers maps types of bodies and parties to numbers for the records of the index. It is safe for
// concurrent use.
type numbers struct {
	mu    sync.Mutex
	types []reflect.Type // of bodies, by kind; the first is unused
	kinds map[reflect.Type]uint8
	ids   map[string]uint16 // of parties, from 1
}

// eventName returns the name of the events with bodies of a type.
func eventName(typ reflect.Type) string {
	if typ == reflect.TypeFor[contract.Unknown]() {
		return "unknown"
	}
	return reflect.Zero(typ).Interface().(contract.Body).EventName()
}

// kind returns the number of a type of bodies.
func (x *numbers) kind(typ reflect.Type) uint8 {
	x.mu.Lock()
	defer x.mu.Unlock()
	k, ok := x.kinds[typ]
	if !ok && len(x.types) < 256 {
		k = uint8(len(x.types))
		x.kinds[typ], x.types = k, append(x.types, typ)
	}
	return k
}

// typ returns the type of bodies with a number, nil if there is none.
func (x *numbers) typ(kind uint8) reflect.Type {
	x.mu.Lock()
	defer x.mu.Unlock()
	if int(kind) < len(x.types) {
		return x.types[kind]
	}
	return nil
}

// party returns the number of an id, 0 if there are too many.
func (x *numbers) party(id string) uint16 {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, ok := x.ids[id]
	if !ok && len(x.ids) < maxAgents && len(id) <= maxID {
		n = uint16(len(x.ids) + 1)
		x.ids[strings.Clone(id)] = n // a copy, because the id is a part of its event's text
	}
	return n
}

// lookup translates a filter into numbers of the index. The result is valid for all entries that exist at
// the time.
func (x *numbers) lookup(f Filter) (party uint16, kinds [256]bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k, typ := range x.types {
		kinds[k] = k > 0 && slices.Contains(f.Kinds, eventName(typ))
	}
	return x.ids[f.Agent], kinds
}
