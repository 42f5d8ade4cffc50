import assert from "node:assert/strict"
import { test } from "node:test"
import { isFault } from "../../kernel/fault.ts"
import { checkPassword, isLive, SESSION_IDLE_MS, SESSION_LIFETIME_MS } from "./rules.ts"

const isWeak = (error: unknown) => isFault(error, "weak_password")

test("a password that anybody would try first is refused", () => {
  for (const password of [
    "",
    "short12",
    "1234567",
    "日本語日本語日",
    "Password1",
    "QWERTYUIOP",
    "ada.love@example.com",
    "ADA.LOVE",
  ]) {
    assert.throws(() => checkPassword(password, "Ada.Love@example.com"), isWeak, password)
  }
})

test("a password has 8 characters or more and at most 1024 bytes, and nothing else is demanded of it", () => {
  assert.throws(() => checkPassword("é".repeat(513), "ada@example.com"), isWeak)
  for (const password of [
    "x".repeat(8),
    "日本語日本語日本",
    "é".repeat(512),
    "no digits nor capitals",
    " spaces ",
  ]) {
    checkPassword(password, "ada@example.com")
  }
})

test("a session ends at its idle limit or at its absolute one, whichever comes first", () => {
  const openedMs = Date.parse("2026-11-20T12:00:00Z")
  const expires_at = new Date(openedMs + SESSION_LIFETIME_MS)
  const live = (usedAfterMs: number, atMs: number) =>
    isLive({ last_used_at: new Date(openedMs + usedAfterMs), expires_at }, openedMs + atMs)

  assert.equal(live(0, SESSION_IDLE_MS - 1), true)
  assert.equal(live(0, SESSION_IDLE_MS), false)
  assert.equal(live(SESSION_LIFETIME_MS - 1, SESSION_LIFETIME_MS - 1), true)
  assert.equal(live(SESSION_LIFETIME_MS - 1, SESSION_LIFETIME_MS), false)
})
