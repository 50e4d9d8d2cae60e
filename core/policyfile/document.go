package policyfile

import (
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// document finds the one YAML document in data.
func (r *reader) document(data []byte) (node, bool) {
	start := place{line: 1, column: 1}
	if len(data) > MaxSize {
		r.fail(start, "the file has more than %d bytes, want a policy file", MaxSize)
		return node{}, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !r.readable(data) {
		return node{}, false
	}
	docs, ok := r.documents(data)
	if !ok {
		return node{}, false
	}
	if len(docs) == 0 || isNull(docs[0].Content[0]) {
		r.fail(start, "the file is empty, want levels at least")
		return node{}, false
	}
	if len(docs) > 1 {
		r.fail(node{Node: docs[1]}.place(), "a second document begins, want one")
		return node{}, false
	}
	return node{Node: docs[0].Content[0]}, true
}

// documents reads up to two documents: one more than is right is enough to know.
func (r *reader) documents(data []byte) ([]*yaml.Node, bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var docs []*yaml.Node
	for len(docs) < 2 {
		doc := new(yaml.Node)
		err := dec.Decode(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.syntax(dec, err)
			return nil, false
		}
		docs = append(docs, doc)
	}
	return docs, true
}

// readable refuses bytes that are not text. Among them are the line breaks that only YAML
// knows: with them a line number would mean one line here and another in an editor.
func (r *reader) readable(data []byte) bool {
	at := place{line: 1, column: 1}
	for len(data) > 0 {
		char, size := utf8.DecodeRune(data)
		switch {
		case char == utf8.RuneError && size == 1:
			r.fail(at, "the byte 0x%02x is not UTF-8, want UTF-8 text", data[0])
			return false
		case char == '\n':
			at.line, at.column = at.line+1, 0
		case unreadable(char), char == '\r' && !bytes.HasPrefix(data, []byte("\r\n")):
			r.fail(at, "the character %U is not text, want none of its kind", char)
			return false
		}
		at.column++
		data = data[size:]
	}
	r.end = at
	return true
}

func unreadable(char rune) bool {
	switch char {
	case '\t', '\r':
		return false
	case '\ufeff', '\ufffe', '\uffff', '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(char)
}
