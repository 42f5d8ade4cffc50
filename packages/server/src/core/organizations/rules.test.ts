import assert from "node:assert/strict"
import { test } from "node:test"
import { type Role, roles } from "@svc/contract"
import fc from "fast-check"
import { isFault } from "../../kernel/fault.ts"
import { checkMayManage, checkRoom, invitationStatus, projectsFor, slugOf } from "./rules.ts"

const allowed = (act: () => void): boolean => {
  try {
    act()
    return true
  } catch (error) {
    assert.ok(isFault(error, "role_insufficient"))
    return false
  }
}

test("only owners make or unmake owners and administrators; administrators see to the rest; others to nobody", () => {
  const mayManage = (actor: Role) => roles.filter(role => allowed(() => checkMayManage(actor, role)))

  assert.deepEqual(mayManage("owner"), ["owner", "admin", "member", "viewer"])
  assert.deepEqual(mayManage("admin"), ["member", "viewer"])
  assert.deepEqual(mayManage("member"), [])
  assert.deepEqual(mayManage("viewer"), [])
})

test("a change of role needs the right to both the old role and the new one", () => {
  assert.equal(
    allowed(() => checkMayManage("admin", "member", "viewer")),
    true,
  )
  assert.equal(
    allowed(() => checkMayManage("admin", "member", "admin")),
    false,
  )
  assert.equal(
    allowed(() => checkMayManage("admin", "owner", "member")),
    false,
  )
})

test("members and viewers can be held to projects, those who lead cannot", () => {
  assert.deepEqual(projectsFor("member", ["a"]), ["a"])
  assert.deepEqual(projectsFor("viewer", []), [])
  assert.equal(projectsFor("owner", null), null)
  assert.throws(
    () => projectsFor("admin", ["a"]),
    error => isFault(error, "invalid_parameter"),
  )
})

test("the plan's last place can be taken and the next cannot; no limit is no limit", () => {
  checkRoom(2, 1, "seat")
  checkRoom(null, 1_000_000, "seat")
  assert.throws(() => checkRoom(2, 2, "seat"), { message: /your plan allows 2 seats$/ })
  assert.throws(() => checkRoom(1, 5, "project"), { message: /your plan allows 1 project$/ })
})

test("an invitation is pending until it is taken, withdrawn or seven days old", () => {
  const now = new Date("2026-11-20T12:00:00Z")
  const before = new Date("2026-11-20T11:59:59Z")
  const after = new Date("2026-11-20T12:00:01Z")
  const open = { accepted_at: null, revoked_at: null, expires_at: after }

  assert.equal(invitationStatus(open, now), "pending")
  assert.equal(invitationStatus({ ...open, expires_at: now }, now), "expired")
  assert.equal(invitationStatus({ ...open, revoked_at: before }, now), "revoked")
  assert.equal(invitationStatus({ ...open, accepted_at: before, expires_at: before }, now), "accepted")
})

test("a slug keeps what it can of a name", () => {
  const slugs = ["Acme", "Müller & Söhne GmbH", "  --x--  ", "日本", "a".repeat(80)].map(slugOf)
  assert.deepEqual(slugs, ["acme", "muller-sohne-gmbh", "x", "unnamed", "a".repeat(40)])
})

test("whatever the name, its slug is words of a-z and 0-9 with single hyphens between", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 100 }), name => {
      const slug = slugOf(name)
      assert.match(slug, /^[a-z0-9]+(?:-[a-z0-9]+)*$/)
      assert.ok(slug.length <= 40)
    }),
  )
})
