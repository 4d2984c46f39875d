package transcript

// A script changes files and lists what the follower of d/f reports:
//
//	append FILE "TEXT"   write FILE "TEXT" (anew, in place)   truncate FILE SIZE
//	mkdir DIR   rename OLD NEW   remove FILE   rmdir DIR (with all in it)
//	symlink TARGET NAME   fifo NAME
//
// and, indented, each report: `1 "line"` with its generation, `turn 1 opened 0` with cause and offset (and what
// was lost), `problem`, `fine`. The follower must report nothing else in between.
var scripts = []struct{ name, text string }{
	{"there from the beginning", `
		+ append d/f "a\nb\n"
			turn 1 opened 0
			1 "a"
			1 "b"
		append d/f "c\n"
			1 "c"`},
	{"comes later", `
		append d/other "x\n"
		append d/f "a\n"
			turn 1 opened 0
			1 "a"`},
	{"partial lines", `
		append d/f "a"
			turn 1 opened 0
		append d/f "b"
		append d/f "\r"
		append d/f "\nc\nd"
			1 "ab"
			1 "c"
		append d/f "\n"
			1 "d"`},
	{"nothing is sacred but the end of a line", `
		append d/f "\xef\xbb\xbfa\n\x00\x00{}\n\xff\xfe\n\n"
			turn 1 opened 0
			1 "a"
			1 "\x00\x00{}"
			1 "\xff\xfe"
			1 ""
		append d/f "\xef\xbb\xbfb\n"
			1 "\ufeffb"`},
	{"a splice, and what follows", `
		append d/f "{\"type\":\"user\",\"mess"
			turn 1 opened 0
		append d/f "{\"type\":\"user\"}\n{\"type\":\"assistant\"}\n"
			1 "{\"type\":\"user\",\"mess{\"type\":\"user\"}"
			1 "{\"type\":\"assistant\"}"`},
	{"an over-long line", `
		append d/f "a\n0123456789"
			turn 1 opened 0
			1 "a"
		append d/f "0123456789\nb\n"
			1 over 2-23
			1 "b"`},
	{"truncated", `
		append d/f "a\nb\nrest"
			turn 1 opened 0
			1 "a"
			1 "b"
		truncate d/f 0
			turn 2 truncated 0 lost 4
		append d/f "c\n"
			2 "c"`},
	{"truncated and written anew", `
		append d/f "a\nbbbb\n"
			turn 1 opened 0
			1 "a"
			1 "bbbb"
		write d/f "c\n"
			turn 2 truncated 0
			2 "c"
		append d/f "d\n"
			2 "d"`},
	{"cut back within a line", `
		append d/f "a\nbbbb\n"
			turn 1 opened 0
			1 "a"
			1 "bbbb"
		truncate d/f 4
			turn 2 truncated 0
			2 "a"
		append d/f "x\n"
			2 "bbx"`},
	{"cut back within what is not a line yet", `
		append d/f "a\nrest"
			turn 1 opened 0
			1 "a"
		truncate d/f 4
			turn 2 truncated 0 lost 4
			2 "a"
		append d/f "d\n"
			2 "red"`},
	{"replaced", `
		append d/f "a\nrest"
			turn 1 opened 0
			1 "a"
		append d/new "b\nc\n"
		rename d/new d/f
			turn 2 replaced 0 lost 4
			2 "b"
			2 "c"
		append d/f "d\n"
			2 "d"`},
	{"replaced three times", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		append d/g "b\n"
		rename d/g d/f
			turn 2 replaced 0
			2 "b"
		append d/g "c\n"
		rename d/g d/f
			turn 3 replaced 0
			3 "c"
		append d/g "d\n"
		rename d/g d/f
			turn 4 replaced 0
			4 "d"`},
	{"moved away, and back", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		rename d/f d/g
			problem file does not exist
		rename d/g d/f
			fine
		append d/f "c\n"
			1 "c"`},
	{"rotated", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		rename d/f d/f.1
			problem file does not exist
		append d/f "b\n"
			fine
			turn 2 replaced 0
			2 "b"`},
	{"removed and created again", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		remove d/f
			problem file does not exist
		append d/f "b\n"
			fine
			turn 2 replaced 0
			2 "b"

		append d/f "c\n"
			2 "c"`},
	{"the directory comes later", `
		rmdir d
		mkdir d
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		append d/f "b\n"
			1 "b"`},
	{"the directory goes and comes", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		rmdir d
			problem file does not exist
		mkdir d
		append d/f "b\n"
			fine
			turn 2 replaced 0
			2 "b"

		append d/f "c\n"
			2 "c"
		rmdir d
			problem file does not exist
		mkdir d
		append d/f "d\n"
			fine
			turn 3 replaced 0
			3 "d"`},
	{"a directory full is moved there", `
		rmdir d
		mkdir e
		append e/f "a\n"
		rename e d
			turn 1 opened 0
			1 "a"
		append d/f "b\n"
			1 "b"`},
	{"the directory is replaced", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		mkdir e
		append e/f "b\n"
		rename d gone
			problem file does not exist
		rename e d
			fine
			turn 2 replaced 0
			2 "b"

		append d/f "c\n"
			2 "c"`},
	{"a directory stands in its place", `
		mkdir d/f
			problem not a regular file
		rmdir d/f
			fine
		append d/f "a\n"
			turn 1 opened 0
			1 "a"`},
	{"a FIFO and a link stand in its place", `
		fifo d/f
			problem not a regular file
		remove d/f
			fine
		append d/g "x\n"
		symlink g d/f
			problem not a regular file
		append d/h "a\n"
		rename d/h d/f
			fine
			turn 1 opened 0
			1 "a"`},
	{"replaced by what cannot be read", `
		append d/f "a\n"
			turn 1 opened 0
			1 "a"
		symlink nowhere d/g
		rename d/g d/f
			problem not a regular file
		append d/h "b\n"
		rename d/h d/f
			fine
			turn 2 replaced 0
			2 "b"`},
}
