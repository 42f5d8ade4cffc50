import assert from "node:assert/strict"
import { test } from "node:test"
import { WireRefusal } from "./error-response.ts"
import { route } from "./route.ts"

const A = "0198c0de-0000-7000-8000-00000000000a"
const B = "0198c0de-0000-7000-8000-00000000000b"

const given = (parameters: Record<string, string>) => new Map(Object.entries(parameters))

const roads: readonly {
  what: string
  parameters: Record<string, string>
  sni?: string
  user?: string
  database?: string
  options?: string
}[] = [
  { what: "the user", parameters: { user: `owner.${A}`, database: "app" } },
  { what: "the user in capitals", parameters: { user: `owner.${A.toUpperCase()}` } },
  { what: "a user with dots", parameters: { user: `a.b.${A}` }, user: "a.b" },
  {
    what: "a database that a client made of the user",
    parameters: { user: `owner.${A}`, database: `owner.${A}` },
  },
  { what: "another database", parameters: { user: `owner.${A}`, database: "other" }, database: "other" },
  { what: "the database", parameters: { user: "owner", database: `shop.${A}` }, database: "shop" },
  { what: "the database alone", parameters: { user: "owner", database: A } },
  { what: "the host name", parameters: { user: "owner" }, sni: `${A}.db.example.com` },
  {
    what: "the user beside a host name of the port",
    parameters: { user: `owner.${A}` },
    sni: "db.example.com",
  },
  { what: "the user and the same host name", parameters: { user: `owner.${A}` }, sni: `${A}.example.com` },
  { what: "the options", parameters: { user: "owner", options: `endpoint=${A}` } },
  { what: "a setting in the options", parameters: { user: "owner", options: `-c endpoint=${A}` } },
  { what: "a setting in one word", parameters: { user: "owner", options: `-cendpoint=${A}` } },
  { what: "a long option", parameters: { user: "owner", options: `--endpoint=${A}` } },
  {
    what: "the options among others",
    parameters: { user: "owner", options: `-c a=b\\ c endpoint=${A}  -c search_path=x --d=\\\\` },
    options: "-c a=b\\ c -c search_path=x --d=\\\\",
  },
]

for (const { what, parameters, sni, user = "owner", database = "app", options } of roads) {
  test(`a connection is led by ${what}, of which its server sees nothing`, () => {
    const found = route(given(parameters), sni)
    assert.equal(found.branchId, A)
    assert.equal(found.user, user)
    assert.equal(found.database, database)
    assert.equal(found.parameters.get("user"), user)
    assert.equal(found.parameters.get("database"), database)
    assert.equal(found.parameters.get("options"), options)
    assert.ok(![...found.parameters.values()].some(value => value.toLowerCase().includes(A)))
  })
}

test("a branch's pooler is asked for wherever the branch can be named, and its server sees nothing of it", () => {
  const pooled = `${A}-pooler`
  const ways: readonly [Record<string, string>, string | undefined][] = [
    [{ user: `owner.${pooled}` }, undefined],
    [{ user: `owner.${A.toUpperCase()}-Pooler`, database: "app" }, undefined],
    [{ user: `owner.${pooled}`, database: `owner.${pooled}` }, undefined],
    [{ user: "owner", database: `app.${pooled}` }, undefined],
    [{ user: "owner", database: pooled }, undefined],
    [{ user: "owner", options: `endpoint=${pooled}` }, undefined],
    [{ user: "owner" }, `${pooled}.db.example.com`],
    [{ user: `owner.${A}` }, `${pooled}.db.example.com`],
  ]
  for (const [parameters, sni] of ways) {
    const found = route(given(parameters), sni)
    assert.deepEqual([found.branchId, found.isPooled, found.user, found.database], [A, true, "owner", "app"])
    assert.ok(![...found.parameters.values()].some(value => value.includes("pooler")))
  }
  assert.equal(route(given({ user: `owner.${A}`, database: "pooler" }), undefined).isPooled, false)
  assert.equal(route(given({ user: `my-pooler.${A}` }), undefined).isPooled, false)
})

const refusals: readonly { what: string; parameters: Record<string, string>; sni?: string }[] = [
  { what: "names no user", parameters: { database: A } },
  { what: "names no branch", parameters: { user: "owner", database: "app" }, sni: "localhost" },
  { what: "names two branches", parameters: { user: `owner.${A}`, database: B } },
  { what: "names one branch and asks for the host of another", parameters: { user: `owner.${A}` }, sni: B },
  { what: "names an endpoint that is no branch id", parameters: { user: "owner", options: "endpoint=x" } },
  { what: "asks for a role of the platform", parameters: { user: `svc_reader.${A}` } },
  { what: "asks for a role of the platform by host", parameters: { user: "svc_admin" }, sni: A },
  { what: "asks for replication", parameters: { user: `owner.${A}`, replication: "database" } },
  { what: "asks for physical replication", parameters: { user: `owner.${A}`, replication: "true" } },
]

for (const { what, parameters, sni } of refusals) {
  test(`a connection that ${what} is refused`, () => {
    assert.throws(
      () => route(given(parameters), sni),
      (error: unknown) => error instanceof WireRefusal && error.sqlstate === "28000",
    )
  })
}

test("parameters that the branch is not named in go on as they came, in any encoding", () => {
  const latin1 = Buffer.from("größe", "utf8").toString("latin1")
  const found = route(
    given({
      user: `owner.${A}`,
      application_name: latin1,
      "_pq_.x": "1",
      options: " -c  a=b ",
      replication: "off",
    }),
    undefined,
  )
  assert.equal(found.applicationName, "größe")
  assert.equal(found.parameters.get("application_name"), latin1)
  assert.equal(found.parameters.get("_pq_.x"), "1")
  assert.equal(found.parameters.get("options"), " -c  a=b ")
})
