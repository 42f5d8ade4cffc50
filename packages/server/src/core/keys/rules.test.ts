import assert from "node:assert/strict"
import { test } from "node:test"
import { dataPlaneScopes, type KeyType, type Role, roles, type Scope, scopeNames } from "@svc/contract"
import fc from "fast-check"
import type { Principal } from "../../kernel/call.ts"
import { anonymous } from "../../kernel/exchange.ts"
import {
  checkCidrs,
  checkMayCreate,
  checkMayManage,
  checkMayRotate,
  expiryOf,
  scopesFor,
  shrunkScopes,
  statusOf,
} from "./rules.ts"

const now = new Date("2026-03-01T12:00:00Z")
const after = (ms: number) => new Date(now.getTime() + ms)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const HERE = "00000000-0000-7000-8000-000000000001"
const ELSEWHERE = "00000000-0000-7000-8000-000000000002"
const ME = "00000000-0000-7000-8000-0000000000aa"

const person = (role: Role | null, projectIds: readonly string[] | null = null): Principal => ({
  ...anonymous,
  type: "session",
  id: ME,
  user: { id: ME, email: "me@example.com", name: "Me" },
  role,
  projectIds: projectIds && new Set(projectIds),
})

/** The code that the act is refused with, or `ok`. */
const outcome = (act: () => unknown): string => {
  try {
    act()
    return "ok"
  } catch (error) {
    return (error as { code: string }).code
  }
}

test("a key is active, then rotating, then expired, and revoked whatever else it is", () => {
  const fresh = { revoked_at: null, expires_at: null, grace_expires_at: null }
  assert.equal(statusOf(fresh, now), "active")
  assert.equal(statusOf({ ...fresh, expires_at: after(1) }, now), "active")
  assert.equal(statusOf({ ...fresh, expires_at: now }, now), "expired")
  assert.equal(statusOf({ ...fresh, grace_expires_at: after(1) }, now), "rotating")
  assert.equal(statusOf({ ...fresh, grace_expires_at: now }, now), "expired")
  assert.equal(statusOf({ ...fresh, grace_expires_at: after(1), expires_at: now }, now), "expired")
  assert.equal(statusOf({ ...fresh, revoked_at: now, expires_at: now }, now), "revoked")
})

test("a key lives 90 days unless told, at least an hour and at most ten years", () => {
  assert.deepEqual(expiryOf({}, now), after(90 * DAY_MS))
  assert.deepEqual(expiryOf({}, now, null), null)
  assert.deepEqual(expiryOf({}, now, DAY_MS), after(DAY_MS))
  assert.deepEqual(expiryOf({ expires_in_days: 1 }, now, null), after(DAY_MS))
  assert.deepEqual(expiryOf({ expires_in_days: 3650 }, now), after(3650 * DAY_MS))
  assert.deepEqual(expiryOf({ expires_at: after(HOUR_MS).toISOString() }, now), after(HOUR_MS))
  assert.deepEqual(expiryOf({ never_expires: true }, now), null)
  assert.deepEqual(expiryOf({ never_expires: false, expires_in_days: 2 }, now), after(2 * DAY_MS))

  const refused = (asked: Parameters<typeof expiryOf>[0]) =>
    assert.equal(
      outcome(() => expiryOf(asked, now)),
      "invalid_expiry",
    )
  refused({ expires_at: after(HOUR_MS - 1).toISOString() })
  refused({ expires_at: after(-DAY_MS).toISOString() })
  refused({ expires_at: after(3661 * DAY_MS).toISOString() })
  refused({ expires_in_days: 5, never_expires: true })
  refused({ expires_in_days: 5, expires_at: after(DAY_MS).toISOString() })
})

test("a new key has the scopes it was given and never more than its creator's role", () => {
  const cases: [Role, KeyType, Scope[] | undefined, string][] = [
    ["owner", "secret", ["admin:full"], "ok"],
    ["admin", "service_account", ["billing:write"], "ok"],
    ["member", "secret", ["kv:write"], "ok"],
    ["member", "secret", ["billing:write"], "scope_exceeds_creator"],
    ["member", "personal", ["admin:full"], "scope_exceeds_creator"],
    ["viewer", "secret", ["kv:read"], "ok"],
    ["viewer", "secret", ["kv:write"], "scope_exceeds_creator"],
    ["owner", "secret", [], "invalid_scope"],
    ["owner", "secret", undefined, "invalid_scope"],
    ["owner", "full_access", ["kv:read"], "invalid_scope"],
    ["owner", "publishable", ["kv:read"], "invalid_scope"],
    ["member", "full_access", undefined, "scope_exceeds_creator"],
  ]
  for (const [role, type, asked, expected] of cases) {
    const found = outcome(() => scopesFor(type, asked, person(role)))
    assert.equal(found, expected, `${role} ${type} ${asked}`)
  }
  assert.equal(
    outcome(() => scopesFor("secret", ["kv:fly"], person("owner"))),
    "invalid_scope",
  )
  assert.equal(
    outcome(() => scopesFor("secret", ["kv:read"], person(null))),
    "scope_exceeds_creator",
  )
  assert.deepEqual(scopesFor("publishable", undefined, person("member")), [])
  assert.deepEqual(scopesFor("full_access", undefined, person("admin")), [...dataPlaneScopes])
  assert.ok(!scopesFor("full_access", [], person("owner")).includes("admin:full"))
})

test("scopes only shrink: nothing a key could not do before can it do after", () => {
  fc.assert(
    fc.property(fc.subarray([...scopeNames]), fc.subarray([...scopeNames]), (had, asked) => {
      const result = outcome(() => shrunkScopes({ type: "secret", scopes: had }, asked))
      const implied = new Set<string>(had.includes("admin:full") ? scopeNames : had)
      if (implied.has("database:query")) implied.add("database:read")
      const shrinks = asked.length > 0 && asked.every(scope => implied.has(scope))
      assert.equal(result, shrinks ? "ok" : "invalid_scope")
    }),
  )
  assert.equal(
    outcome(() => shrunkScopes({ type: "full_access", scopes: [...dataPlaneScopes] }, ["kv:read"])),
    "invalid_scope",
  )
  assert.equal(
    outcome(() => shrunkScopes({ type: "publishable", scopes: [] }, ["kv:read"])),
    "invalid_scope",
  )
})

test("who may create a key, and where", () => {
  const create = (
    role: Role | null,
    restrictedTo: string[] | null,
    project_id: string | null,
    organization_reach = false,
  ) => outcome(() => checkMayCreate(person(role, restrictedTo), { project_id, organization_reach }))
  for (const role of ["owner", "admin"] as const) {
    assert.equal(create(role, null, null), "ok")
    assert.equal(create(role, null, HERE), "ok")
    assert.equal(create(role, null, HERE, true), "ok")
  }
  assert.equal(create("member", null, HERE, true), "org_wide_key_forbidden")
  assert.equal(create("member", null, HERE), "ok")
  assert.equal(create("member", null, null), "org_wide_key_forbidden")
  assert.equal(create("member", [HERE], HERE), "ok")
  assert.equal(create("member", [HERE], ELSEWHERE), "project_not_in_organization")
  assert.equal(create("member", [HERE], null), "org_wide_key_forbidden")
  for (const projectId of [null, HERE]) {
    assert.equal(create("viewer", null, projectId), "role_insufficient")
    assert.equal(create(null, null, projectId), "role_insufficient")
  }
})

test("who may change or revoke a key", () => {
  const manage = (
    role: Role | null,
    restrictedTo: string[] | null,
    project_id: string | null,
    created_by: string | null,
  ) => outcome(() => checkMayManage(person(role, restrictedTo), { project_id, created_by }))
  for (const role of ["owner", "admin"] as const) assert.equal(manage(role, null, null, null), "ok")
  assert.equal(manage("member", null, HERE, null), "ok")
  assert.equal(manage("member", null, null, null), "role_insufficient")
  assert.equal(manage("member", null, null, ME), "ok")
  assert.equal(manage("member", [HERE], HERE, null), "ok")
  assert.equal(manage("member", [HERE], ELSEWHERE, null), "role_insufficient")
  assert.equal(manage("viewer", null, HERE, ME), "role_insufficient")
  assert.equal(manage(null, null, HERE, ME), "role_insufficient")
})

test("nobody gets a secret by rotation that they could not have by creation", () => {
  for (const role of roles) {
    for (const [project_id, organization_reach] of [
      [null, false],
      [HERE, false],
      [HERE, true],
    ] as const) {
      for (const scope of scopeNames) {
        const who = person(role)
        const create = outcome(() => {
          checkMayCreate(who, { project_id, organization_reach })
          scopesFor("secret", [scope], who)
        })
        const rotate = outcome(() => checkMayRotate(who, { project_id, organization_reach, scopes: [scope] }))
        assert.equal(rotate, create, `${role} ${project_id} ${organization_reach} ${scope}`)
      }
    }
  }
})

test("an allow-list takes addresses and CIDRs and nothing else", () => {
  for (const cidr of ["10.0.0.0/8", "203.0.113.7", "2001:db8::/32", "::1", "0.0.0.0/0"]) checkCidrs([cidr])
  for (const cidr of ["10.0.0.0/33", "10.0.0", "2001:db8::/129", "host", "10.0.0.0/", "10.0.0.0/-1"]) {
    assert.equal(
      outcome(() => checkCidrs(["10.0.0.1", cidr])),
      "invalid_cidr",
      cidr,
    )
  }
})
