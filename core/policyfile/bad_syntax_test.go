package policyfile_test

// badSyntax is text that is not YAML.
var badSyntax = []bad{
	{"levels: [a, b\nroutes: {}\n", "2:7: not YAML: did not find expected ',' or ']' while parsing a flow sequence that begins at 1:9"},
	{"levels:\n  - {name: ip, limit: 300/min\n  - {name: user, limit: 5/s}\n", "3:5: not YAML: did not find expected ',' or '}' while parsing a flow mapping that begins at 2:5"},
	{"levels:\n  - {name: ip limit: 3, burst: 3}\n", "2:20: not YAML: did not find expected ',' or '}' while parsing a flow mapping that begins at 2:5"},
	{"name: shop\n\tlevels: 3\n", "2:1: not YAML: found a tab character that violates indentation while scanning a plain scalar that begins at 1:7"},
	{"name: shop\n levels: 3\n", "2:8: not YAML: mapping values are not allowed in this context"},
	{"name: \"shop\nlevels: 3\n", "3:1: not YAML: found unexpected end of stream while scanning a quoted scalar that begins at 1:7"},
	{"a: b: c\n", "1:5: not YAML: mapping values are not allowed in this context"},
	{"name: @x\nlevels: 1\n", "1:7: not YAML: found character that cannot start any token while scanning for the next token"},
	{"name: shop\nx: *foo\nlevels: 1\n", "2:4: not YAML: unknown anchor 'foo' referenced"},
	{"a: [", "1:5: not YAML: did not find expected node content while parsing a flow node"},
	{"name: shop\n]\n", "2:1: not YAML: did not find expected key while parsing a block mapping that begins at 1:1"},
	{"name: shop\nlevels\nfoo: 1\n", "3:1: not YAML: could not find expected ':' while scanning a simple key that begins at 2:1"},
	{"\"a\\qb\": 1\n", "1:3: not YAML: found unknown escape character while parsing a quoted scalar that begins at 1:1"},
	{"name: 'x' y\n", "1:11: not YAML: did not find expected key while parsing a block mapping that begins at 1:1"},
	{"%YAML 9.9\n---\na: b\n", "1:1: not YAML: found incompatible YAML document"},
	{base + "--- ]\n", "2:5: not YAML: did not find expected node content while parsing a block node"},
}
