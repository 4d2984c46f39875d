package journal

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
)

// kindSeal ends a batch. It is no record: it carries the sequence number of the last
// record it vouches for, continues the chain of checksums like one, and its payload is
//
//	0  key  8 bytes, which key it was made with
//	8  mac 32 bytes, HMAC-SHA256 of the mac of the seal before (of a run's first, a
//	        hash of its id) and all frames since, as they are on disk
//
// A checksum can be worked out by anybody who can write to the file, a seal only by who
// has the key.
const (
	kindSeal    Kind = 3
	sealPayload      = keyMark + sha256.Size
	sealFrame        = frameHead + sealPayload
	keyMark          = 8
)

// Seals says how far the records of a run are vouched for.
type Seals struct {
	Sealed   uint64 // records up to here are, or were taken over by what is
	Unsealed uint64 // of those at the end that are good: so many were written before there were seals
	// Unknown is the last record whose seal is of a key that is not here (any more),
	// so that nothing can be said of it.
	Unknown uint64
}

var (
	errUnsealedRecord = errors.New("records without a seal")
	errWrongSeal      = errors.New("the seal does not match the records")
	errStrangeSeal    = errors.New("the seal is of another key than those before it")
	errOldFormat      = errors.New("a segment of the old format, without seals, follows sealed ones")
)

// sealer works out seals over the frames it is given, in order. Without a key it
// works out nothing.
type sealer struct {
	key  *sealKey
	h    hash.Hash
	last [sha256.Size]byte // the mac of the seal before
	ours bool              // a seal of key was seen
}

// newSealer stands at the beginning of a run.
func newSealer(key *sealKey, run string) *sealer {
	s := &sealer{key: key, last: sha256.Sum256([]byte("arbiter journal " + run))}
	if key != nil {
		s.h = hmac.New(sha256.New, key[:])
		s.restart()
	}
	return s
}

// restart stands behind the last seal again.
func (s *sealer) restart() {
	if s.h != nil {
		s.h.Reset()
		s.h.Write(s.last[:])
	}
}

// frames takes frames in.
func (s *sealer) frames(b []byte) {
	if s.h != nil {
		s.h.Write(b)
	}
}

// mark is how a sealer is brought back to where it was.
type mark struct {
	h    hash.Hash
	last [sha256.Size]byte
}

func (s *sealer) mark() mark {
	m := mark{last: s.last}
	if c, ok := s.h.(hash.Cloner); ok {
		m.h, _ = c.Clone()
	}
	return m
}

func (s *sealer) back(m mark) {
	s.last = m.last
	if s.h != nil && m.h != nil {
		s.h = m.h
	}
}

// seal returns the payload of a seal over all since the last, and stands behind it.
func (s *sealer) seal() []byte {
	id := s.key.mark()
	b := s.h.Sum(append(make([]byte, 0, sealPayload), id[:]...))
	copy(s.last[:], b[keyMark:])
	s.ours = true
	s.restart()
	return b
}

// check holds a seal read against the frames taken in, and stands behind it. known is
// false where its key is not here.
func (s *sealer) check(payload []byte) (known bool, err error) {
	if len(payload) != sealPayload {
		return false, errWrongSeal
	}
	if s.key != nil {
		if id := s.key.mark(); string(id[:]) == string(payload[:keyMark]) {
			known = true
		}
	}
	switch {
	case known && !hmac.Equal(s.h.Sum(nil), payload[keyMark:]):
		return true, errWrongSeal
	case !known && s.ours:
		return false, errStrangeSeal // a key is lost, and made anew; it does not come back
	}
	copy(s.last[:], payload[keyMark:])
	s.ours = s.ours || known
	s.restart()
	return known, nil
}

// appendSeal completes a batch, whose frames follow the frame of crc prev, and puts its
// seal behind it. It returns the crc of the seal.
func appendSeal(batch []byte, last uint64, s *sealer, seed, prev uint32) ([]byte, uint32) {
	prev, n := chainBatch(batch, seed, prev)
	s.frames(batch)
	at := len(batch)
	batch = appendFrame(batch, last, kindSeal, s.seal())
	return batch, finishFrame(batch[at:], seed, prev, n)
}
