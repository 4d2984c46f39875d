package contract

import "reflect"

// trait is what a frontend does with an event that it need not show or pass on like any other.
type trait uint8

const (
	// narrates: it only reports what an agent is doing. If a reader is too slow, it may be left
	// out. What a script or a person acts on may not.
	narrates trait = 1 << iota
	fine           // too fine for prose: lines and files leave it out
	urgent         // somebody waits for a human to hear it, or it is the last that is said
	talk           // part of the conversation of the human with the run
	aside          // in no agent's own stream, whomever it is about
)

var traits = func() map[reflect.Type]trait {
	all := make(map[reflect.Type]trait, len(events))
	for _, e := range events {
		all[reflect.TypeOf(e.body)] = e.traits
	}
	return all
}()

// Narrates reports whether an event may be left out for a slow reader.
func Narrates(b Body) bool { return traits[reflect.TypeOf(b)]&narrates != 0 }

// Fine reports whether an event is too fine to be told in prose.
func Fine(b Body) bool { return traits[reflect.TypeOf(b)]&fine != 0 }

// Urgent reports whether a human should learn of an event before others, and in any case.
func Urgent(b Body) bool { return traits[reflect.TypeOf(b)]&urgent != 0 }

// Talk reports whether an event is part of the conversation, as a rule: a frontend may know of
// events that are now and then.
func Talk(b Body) bool { return traits[reflect.TypeOf(b)]&talk != 0 }

// Aside reports whether an event is in no agent's own stream.
func Aside(b Body) bool { return traits[reflect.TypeOf(b)]&aside != 0 }

// Events has an empty body of each event.
func Events() []Body {
	bodies := make([]Body, len(events))
	for i, e := range events {
		bodies[i] = e.body
	}
	return bodies
}

// EventNames lists the names of all events.
func EventNames() []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.body.EventName()
	}
	return names
}
