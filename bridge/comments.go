package bridge

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// The sources of the protocol's types. Their comments are the descriptions in the schema, so that both
// always agree.
//
//go:embed protocol.go query.go judge.go pty.go sandbox.go remote.go events.go evidence.go errors.go
var sources embed.FS

// comments holds the doc comments of the sources.
type comments struct {
	types      map[string]string // by type name
	fields     map[string]string // by Type.Field
	errorCodes []namedValue
	categories []namedValue
}

// namedValue is a constant of the protocol.
type namedValue struct {
	Name        string `json:"name,omitempty"`
	Value       any    `json:"value"`
	Description string `json:"description,omitempty"`
}

// Codes of JSON-RPC itself that the bridge may answer with.
var standardCodes = []namedValue{
	{"InvalidRequest", -32600, "not a request, or a request that is not allowed now"},
	{"MethodNotFound", -32601, "unknown method"},
	{"InvalidParams", -32602, "a parameter is missing or of the wrong type"},
	{"InternalError", -32603, "an error in the bridge"},
}

func readComments() (*comments, error) {
	c := &comments{types: map[string]string{}, fields: map[string]string{}, errorCodes: standardCodes}
	files, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := f.Name()
		src, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok {
				if err := c.declaration(gen); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return c, nil
}

func (c *comments) declaration(gen *ast.GenDecl) error {
	for _, spec := range gen.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			c.typeDecl(spec, gen.Doc)
		case *ast.ValueSpec:
			if err := c.constant(spec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comments) typeDecl(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	c.types[spec.Name.Name] = sentence(spec.Name.Name, prose(doc))
	if s, ok := spec.Type.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			text := prose(f.Doc)
			if text == "" {
				text = prose(f.Comment)
			}
			for _, name := range f.Names {
				c.fields[spec.Name.Name+"."+name.Name] = text
			}
		}
	}
}

func (c *comments) constant(spec *ast.ValueSpec) error {
	name := spec.Names[0].Name
	if len(spec.Values) != 1 {
		return nil
	}
	switch {
	case strings.HasPrefix(name, "Code"):
		var value int
		neg, ok := spec.Values[0].(*ast.UnaryExpr)
		if !ok {
			return fmt.Errorf("constant %s is not a negative number", name)
		}
		if _, err := fmt.Sscan(neg.X.(*ast.BasicLit).Value, &value); err != nil {
			return fmt.Errorf("constant %s: %w", name, err)
		}
		c.errorCodes = append(c.errorCodes, namedValue{strings.TrimPrefix(name, "Code"), -value, prose(spec.Comment)})
	case strings.HasPrefix(name, "Cat"):
		value := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		c.categories = append(c.categories, namedValue{Value: value, Description: prose(spec.Comment)})
	}
	return nil
}

// field returns the comment of a field, also of a field of an embedded type.
func (c *comments) field(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return c.fields[t.Name()+"."+f.Name]
}

// sentence removes the type's name from the beginning of its comment: a reader of the schema does not know
// our types. "KillParams ends an agent" → "Ends an agent".
func sentence(name, text string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok || rest == "" {
		return text
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

func prose(g *ast.CommentGroup) string {
	return strings.Join(strings.Fields(g.Text()), " ")
}
