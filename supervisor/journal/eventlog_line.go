package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// MaxLine bounds a line, in bytes: an input of the journal, with every byte escaped, and the members around it.
// A longer line is damage.
const MaxLine = 6*16<<20 + 1<<10

// MaxHead bounds the bytes of a line besides its event or record.
const MaxHead = 128

// LogChain is what the next line is chained to: the number and sum of the line before it. The zero Chain is that
// of an empty file.
type LogChain struct {
	N   uint64
	Sum uint32
}

// LogContent is what a line holds. One of Line and Record is a JSON object, the other nil.
type LogContent struct {
	Input  uint64 // the number of the journal's input it follows from; 0: none
	At     time.Time
	Line   json.RawMessage // an event, as contract.EncodeLine returns it; a line feed at its end is left out
	Record json.RawMessage
}

// LogEntry is a line of the log.
type LogEntry struct {
	N uint64
	LogContent
	Position LogPosition // where it begins
	Size     int         // of the line, in bytes, without its line feed
	Sum      uint32      // of the line
}

// Next is where the next line begins.
func (e LogEntry) Next() LogPosition {
	return LogPosition{Offset: e.Position.Offset + int64(e.Size) + 1, Prev: LogChain{N: e.N, Sum: e.Sum}}
}

const (
	sumPrefix = `{"sum":"`
	sumEnd    = len(sumPrefix) + 8 + len(`"`) // the checksummed bytes begin here
)

// Append adds a line to dst and advances the chain. An error is a fault of the caller; dst and the chain are
// then unchanged.
func (c *LogChain) Append(dst []byte, x LogContent) ([]byte, error) {
	name, object := "line", bytes.TrimSuffix(x.Line, []byte("\n"))
	if x.Line == nil {
		name, object = "record", x.Record
	} else if x.Record != nil {
		return dst, errors.New("append to the event log: a line and a record at once")
	}
	if len(object) < 2 || object[0] != '{' || object[len(object)-1] != '}' || bytes.IndexByte(object, '\n') >= 0 {
		return dst, fmt.Errorf("append to the event log: the %s is not a JSON object on one line", name)
	}
	if y := x.At.Year(); y < 1678 || y > 2261 {
		return dst, fmt.Errorf("append to the event log: the year %d has no Unix time in nanoseconds", y)
	}
	start := len(dst)
	dst = append(dst, sumPrefix+`00000000"`...)
	dst = strconv.AppendUint(append(dst, `,"n":`...), c.N+1, 10)
	dst = strconv.AppendUint(append(dst, `,"input":`...), x.Input, 10)
	dst = strconv.AppendInt(append(dst, `,"at":`...), x.At.UnixNano(), 10)
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	dst = append(append(dst, object...), '}')
	if len(dst)-start > MaxLine {
		return dst[:start], fmt.Errorf("append to the event log: a line of %d bytes is too long", len(dst)-start)
	}
	sum := crc32.Update(c.Sum, castagnoli(), dst[start+sumEnd:])
	var bytesOfSum [4]byte
	binary.BigEndian.PutUint32(bytesOfSum[:], sum)
	hex.Encode(dst[start+len(sumPrefix):], bytesOfSum[:])
	*c = LogChain{N: c.N + 1, Sum: sum}
	return append(dst, '\n'), nil
}

var (
	errForm  = errors.New("it is not in the form of a line")
	errSum   = errors.New("its checksum does not match")
	errCount = errors.New("lines before it are missing, repeated or out of order")
	errLong  = errors.New("it is too long")
)

// statedSum is the sum that a line states, whether or not it is right.
func statedSum(line []byte) (uint32, bool) {
	if len(line) < sumEnd || string(line[:len(sumPrefix)]) != sumPrefix || line[sumEnd-1] != '"' {
		return 0, false
	}
	var sum [4]byte
	digits := line[len(sumPrefix) : sumEnd-1]
	if _, err := hex.Decode(sum[:], digits); err != nil || bytes.ContainsAny(digits, "ABCDEF") {
		return 0, false
	}
	return binary.BigEndian.Uint32(sum[:]), true
}

// ParseLine reads a line, without its line feed, that follows one with the sum prev. It does not set the entry's
// position.
func ParseLine(line []byte, prev uint32) (LogEntry, error) {
	sum, ok := statedSum(line)
	if !ok {
		return LogEntry{}, errForm
	}
	if crc32.Update(prev, castagnoli(), line[sumEnd:]) != sum {
		return LogEntry{}, errSum
	}
	var fields struct {
		N      uint64          `json:"n"`
		Input  uint64          `json:"input"`
		At     int64           `json:"at"`
		Line   json.RawMessage `json:"line"`
		Record json.RawMessage `json:"record"`
	}
	if json.Unmarshal(line, &fields) != nil || (fields.Line == nil) == (fields.Record == nil) {
		return LogEntry{}, errForm
	}
	return LogEntry{N: fields.N, Size: len(line), Sum: sum, LogContent: LogContent{Input: fields.Input,
		At: time.Unix(0, fields.At), Line: fields.Line, Record: fields.Record}}, nil
}
