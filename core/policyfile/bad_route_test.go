package policyfile_test

// badRoutes are mistakes in routes.
var badRoutes = []bad{
	{base + "routes:\n", `2:8: routes: got nothing, want a mapping such as {"POST /login": [{name: ip, limit: 5/min}], "GET /healthz": exempt}`},
	{base + "routes: []\n", `2:9: routes: got a list, want a mapping such as {"POST /login": [{name: ip, limit: 5/min}], "GET /healthz": exempt}`},
	{base + "routes: {5: exempt}\n", `2:10: routes["5"]: got "5", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
	{base + "routes: {[a]: exempt}\n", "2:10: routes: got a list as a key, want text"},
	{base + "routes:\n  /login: exempt\n", `3:3: routes["/login"]: got "/login", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
	{base + "routes:\n  POST login: exempt\n", `3:3: routes["POST login"]: got "POST login", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
	{base + "routes:\n  post /login: exempt\n", `3:3: routes["post /login"]: got "post /login", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
	{base + "routes:\n  POST  /login: exempt\n", `3:3: routes["POST  /login"]: got "POST  /login", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
	{base + "routes:\n  /shop.v1.Items/Get/x: exempt\n", `3:3: routes["/shop.v1.Items/Get/x"]: got "/shop.v1.Items/Get/x", want "METHOD /path", "* /path" for every method, or a gRPC full method such as "/shop.v1.Items/Get"`},
	{base + "routes:\n  POST /login: []\n", `3:16: routes["POST /login"]: the list is empty, want a list of levels such as {name: ip, limit: 300/min}, or exempt`},
	{base + "routes:\n  POST /login: block\n", `3:16: routes["POST /login"]: got "block", want a list of levels such as {name: ip, limit: 300/min}, or exempt`},
	{base + "routes:\n  POST /login:\n", `3:15: routes["POST /login"]: got nothing, want a list of levels such as {name: ip, limit: 300/min}, or exempt`},
	{base + "routes:\n  POST /login: {name: ip, limit: 1/s}\n", `3:16: routes["POST /login"]: got a mapping, want a list of levels such as {name: ip, limit: 300/min}, or exempt`},
	{base + "routes:\n  POST /login: [{name: ip}]\n", `3:17: routes["POST /login"][0].limit: missing, want NUMBER/PERIOD such as 300/min or 5/15min, or unlimited, or block`},
	{base + "routes:\n  POST /login: exempt\n  POST /login: exempt\n", `4:3: routes["POST /login"]: given twice, first at 3:3, want it once`},
	{base + "routes:\n  GET /i/:id: exempt\n  GET /i/{id}: exempt\n", `4:3: routes["GET /i/{id}"]: the same route as "GET /i/:id" at 3:3, want it once`},
	{base + "routes:\n  POST /login: [{name: tenant, limit: 1/s}]\n", `3:24: routes["POST /login"][0].name: unknown level "tenant", want ip, user, endpoint or global, or a key beside it: "header:NAME" such as "header:X-Tenant"`},
	{base + "routes:\n  POST /login: [{name: ip, limit: 1/s}, {name: ip, limit: 1/s}]\n", `3:48: routes["POST /login"][1].name: level "ip" is given twice, first at 3:24, want it once`},
	{"routes:\n  GET /a: [{name: x, limit: 3/s}]\nlevels: exempt\n", `2:19: routes["GET /a"][0].name: unknown level "x", want ip, user, endpoint or global, or a key beside it: "header:NAME" such as "header:X-Tenant"`},
	{"routes:\n  GET /a: [{name: exempt, limit: 3/s}]\nlevels: exempt\n", `2:19: routes["GET /a"][0].name: unknown level "exempt", want ip, user, endpoint or global, or a key beside it: "header:NAME" such as "header:X-Tenant"`},
	{"levels: &a [{name: ip, limit: 1/s}]\nroutes: {GET /x: *a}\n", "1:9: levels: &a is an anchor, want none: aliases are not supported\n2:18: routes[\"GET /x\"]: *a is an alias, want the value itself"},
}
