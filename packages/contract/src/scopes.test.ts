import assert from "node:assert/strict"
import { test } from "node:test"
import {
  acceptedMask,
  admits,
  dataPlaneScopes,
  describeScopes,
  expandScopes,
  heldMask,
  roleCeiling,
  roles,
  type Scope,
  scopeBit,
  scopeNames,
  scopes,
} from "./scopes.ts"

// Specification 5.3, in its order.
const namedBySpecification = `
  database:read database:query database:branch storage:read storage:write functions:deploy functions:invoke
  functions:logs services:deploy services:read services:logs compute:deploy compute:scale compute:logs ai:infer
  ai:models kv:read kv:write events:publish events:read registry:pull registry:push search:read metering:read
  email:read email:write email:send compliance:read compliance:write vpc:read vpc:write lb:read lb:write waf:read
  waf:write notifications:read notifications:write admin:full`
  .trim()
  .split(/\s+/)

test("there are 64 scopes, and all 38 the specification names are among them", () => {
  assert.equal(scopeNames.length, 64)
  assert.equal(namedBySpecification.length, 38)
  for (const name of namedBySpecification) assert.ok(Object.hasOwn(scopes, name), name)
})

test("a scope's name is its service and its action, and it says what it grants", () => {
  for (const name of scopeNames) {
    const { service, action, description } = scopes[name]
    assert.equal(`${service}:${action}`, name)
    assert.match(name, /^[a-z]+:[a-z]+$/)
    assert.match(description, /^[A-Z].*[^.]$/)
  }
})

test("a full access key holds the 63 data-plane scopes and no platform scope", () => {
  assert.equal(dataPlaneScopes.length, 63)
  assert.equal(expandScopes(dataPlaneScopes).has("admin:full"), false)
})

test("a scope grants itself alone, but for database:query, which includes reading, and admin:full", () => {
  for (const name of scopeNames) {
    if (name === "database:query" || name === "admin:full") continue
    assert.deepEqual([...expandScopes([name])], [name])
  }
  assert.deepEqual([...expandScopes(["database:query"])].sort(), ["database:query", "database:read"])
  assert.equal(expandScopes(["admin:full"]).size, 64)
})

test("implication is closed: expanding twice changes nothing", () => {
  for (const name of scopeNames) {
    const once = expandScopes([name])
    assert.deepEqual(expandScopes(once), once, name)
  }
})

test("the mask admits exactly what the expanded set contains, for every pair of scopes", () => {
  assert.equal(new Set(scopeNames.map(scopeBit)).size, 64)
  for (const held of scopeNames) {
    const inEffect = expandScopes([held])
    for (const accepted of scopeNames) {
      assert.equal(
        admits(heldMask([held]), acceptedMask(accepted)),
        inEffect.has(accepted),
        `a holder of ${held} calls an operation of ${accepted}`,
      )
    }
  }
})

test("any one of several accepted scopes is enough, and none is refused", () => {
  const accepted = acceptedMask(["database:read", "billing:write"])
  assert.equal(admits(heldMask(["database:query"]), accepted), true)
  assert.equal(admits(heldMask(["billing:write", "kv:read"]), accepted), true)
  assert.equal(admits(heldMask(["kv:read"]), accepted), false)
  assert.equal(admits(heldMask([]), accepted), false)
})

test("owners and administrators may grant everything, members all but four scopes, viewers only reading", () => {
  assert.equal(roleCeiling("owner").size, 64)
  assert.equal(roleCeiling("admin").size, 64)
  const beyondMembers = scopeNames.filter(name => !roleCeiling("member").has(name))
  assert.deepEqual(beyondMembers.sort(), [
    "admin:full",
    "billing:write",
    "compliance:write",
    "encryption:rotate",
  ] satisfies Scope[])
  for (const name of roleCeiling("viewer")) assert.match(name, /:(read|logs)$/)
  assert.ok(roleCeiling("viewer").has("functions:logs"))
})

test("no role's scopes imply one beyond its ceiling", () => {
  for (const role of roles) assert.deepEqual(expandScopes(roleCeiling(role)), roleCeiling(role), role)
})

test("accepted scopes are described as the specification's refusal words them", () => {
  assert.equal(describeScopes("kv:write"), "kv:write")
  assert.equal(describeScopes(["database:read", "database:query"]), "database:read or database:query")
  assert.equal(describeScopes(["kv:read", "kv:write", "ai:infer"]), "kv:read, kv:write or ai:infer")
})
