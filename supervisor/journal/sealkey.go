package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	keyName    = "seal.key"
	keyVersion = 1
	// keyWait is how long another process may take to write the key.
	keyWait = 5 * time.Second
)

// sealKey is what seals are made with. It belongs to a state directory.
type sealKey [32]byte

// mark tells one key from another, and nothing of either.
func (k *sealKey) mark() (m [keyMark]byte) {
	sum := sha256.Sum256(append([]byte("arbiter seal key "), k[:]...))
	copy(m[:], sum[:])
	return m
}

// keyFile is the body of the key's file.
type keyFile struct {
	Key []byte `json:"key"`
}

func decodeKey(b []byte) (*sealKey, bool) {
	var f keyFile
	if err := unseal(b, keyName, keyVersion, &f); err != nil || len(f.Key) != len(sealKey{}) {
		return nil, false
	}
	return (*sealKey)(f.Key), true
}

// readKey returns the key of the state directory, nil if there is none that is whole.
func (s *Store) readKey() (*sealKey, error) {
	b, err := readSmall(s.root, keyName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of the seals: %w", err)
	}
	key, _ := decodeKey(b)
	return key, nil
}

// needKey returns the key, and makes one where there is none or it is not whole: of
// those who try at once, one makes it. It is durable when it is first used.
func (s *Store) needKey() (*sealKey, error) {
	key, err := s.readKey()
	if key != nil || err != nil {
		return key, err
	}
	l, err := takeLock(s.root, keyName, keyWait)
	if err != nil {
		return nil, fmt.Errorf("make the key of the seals: %w", err)
	}
	defer l.Close()
	b, err := readSmallFile(l.f)
	if err != nil {
		return nil, fmt.Errorf("read the key of the seals: %w", err)
	}
	key, whole := decodeKey(b)
	if !whole {
		key = new(sealKey)
		rand.Read(key[:])
		if b, err = seal(keyVersion, keyFile{Key: key[:]}); err != nil {
			return nil, err
		}
		crash("journal.key.write.before")
		if _, err := l.f.WriteAt(b, 0); err != nil {
			return nil, fmt.Errorf("make the key of the seals: %w", err)
		}
		if err := l.f.Truncate(int64(len(b))); err != nil {
			return nil, fmt.Errorf("make the key of the seals: %w", err)
		}
	}
	// Whoever wrote it may have been killed before it was durable.
	crash("journal.key.sync.before")
	if err := errors.Join(l.f.Sync(), s.root.Sync()); err != nil {
		return nil, fmt.Errorf("make the key of the seals: %w", err)
	}
	crash("journal.key.sync.after")
	return key, nil
}
