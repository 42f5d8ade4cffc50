import assert from "node:assert/strict"
import { test } from "node:test"
import { area, type OperationSpec, T } from "./dsl.ts"
import { impliedFaults, impliedStatuses } from "./implied-faults.ts"

const declare = (spec: Partial<OperationSpec>, project: "none" | "optional" = "none") =>
  area(
    "things",
    { title: "Things", summary: "", project, belongs: "project" },
    {
      one: {
        id: "oneThing",
        http: "GET /v1/things",
        summary: "",
        scope: "any",
        effect: "read",
        replies: { 204: null },
        ...spec,
      },
    },
  ).operations.one

test("a public read implies no refusal of credentials or permission", () => {
  const statuses = impliedStatuses(declare({ scope: "public" }))
  for (const status of [401, 403, 409]) assert.ok(!statuses.has(status), `${status}`)
  for (const status of [400, 405, 406, 408, 413, 415, 429, 500, 503, 504])
    assert.ok(statuses.has(status), `${status}`)
})

test("a mutation implies the refusals of an Idempotency-Key and of a read-only key", () => {
  const codes = impliedFaults(declare({ http: "POST /v1/things", effect: "write" }))
  for (const code of [
    "idempotency_key_invalid",
    "idempotency_key_mismatch",
    "idempotency_key_in_use",
    "key_read_only",
  ])
    assert.ok(
      codes.some(implied => implied === code),
      code,
    )
})

test("a public mutation has no caller whose Idempotency-Key could be remembered", () => {
  const codes = impliedFaults(
    declare({ http: "POST /v1/things", effect: "write", scope: "public", limit: "auth" }),
  )
  assert.ok(!codes.some(code => code.startsWith("idempotency_key")))
  assert.ok(codes.includes("auth_rate_limited"))
  assert.ok(!codes.includes("rate_limited"))
})

test("scope, session, project and body each imply the refusal that checks them", () => {
  assert.ok(impliedFaults(declare({ scope: ["kv:read", "kv:write"] })).includes("missing_scope"))
  assert.ok(impliedFaults(declare({ scope: "session" })).includes("session_required"))
  assert.ok(impliedFaults(declare({}, "optional")).includes("project_required"))
  assert.ok(impliedFaults(declare({ body: T.Object({}) })).includes("invalid_json"))
  assert.ok(!impliedFaults(declare({})).includes("invalid_json"))
})

test("a body that is sent where none is declared is refused as one that is no JSON", () => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const)
    assert.ok(
      impliedFaults(declare({ http: `${method} /v1/things`, effect: "write" })).includes("invalid_json"),
    )
})

test("a person of no organization is refused where no scope is asked for, and nobody else is by this", () => {
  for (const scope of ["any", "session"] as const)
    assert.ok(impliedFaults(declare({ scope })).includes("role_insufficient"), scope)
  assert.ok(!impliedFaults(declare({ scope: "any", belongs: "caller" })).includes("role_insufficient"))
  assert.ok(!impliedFaults(declare({ scope: "kv:read" })).includes("role_insufficient"))
})

test("an area's own wording of a refusal is the one implied", () => {
  const { revoke } = area(
    "things",
    {
      title: "Things",
      summary: "",
      project: "none",
      belongs: "project",
      refusals: { session: "key_session_required" },
    },
    {
      revoke: {
        id: "revokeThing",
        http: "POST /v1/things",
        summary: "",
        scope: "session",
        effect: "write",
        replies: { 204: null },
      },
    },
  ).operations
  const codes = impliedFaults(revoke)
  assert.ok(codes.includes("key_session_required") && !codes.includes("session_required"))
})

test("no refusal is implied twice", () => {
  const codes = impliedFaults(
    declare({ http: "POST /v1/things", effect: "write", risk: "high", limit: "auth" }, "optional"),
  )
  assert.deepEqual([...new Set(codes)], codes)
})
