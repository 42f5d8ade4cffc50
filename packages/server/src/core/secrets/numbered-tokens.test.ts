import assert from "node:assert/strict"
import { test } from "node:test"
import { newId } from "../../kernel/id.ts"
import { createNumberedTokens, judgeToken, REPEAT_WINDOW_MS } from "./numbered-tokens.ts"

const KEY = Buffer.alloc(32, 1)
const tokens = createNumberedTokens("svc_test_", KEY)

test("a token is read back, and nothing that was not written by the same key and prefix", () => {
  const family = newId()
  const text = tokens.write({ family, number: 7 })
  assert.match(text, /^svc_test_[\w-]{70}$/)
  assert.deepEqual(tokens.read(text), { family, number: 7 })
  assert.notEqual(tokens.write({ family, number: 8 }), text)
  for (const other of [
    "",
    "svc_test_",
    `${text}A`,
    `${text}=`,
    text.slice(0, -1),
    text.replace("svc_test_", "svc_tset_"),
    createNumberedTokens("svc_tset_", KEY).write({ family, number: 7 }).replace("svc_tset_", "svc_test_"),
    createNumberedTokens("svc_test_", Buffer.alloc(32, 2)).write({ family, number: 7 }),
  ])
    assert.equal(tokens.read(other), undefined, other)
  for (let at = "svc_test_".length; at < text.length; at++) {
    const flipped = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)
    assert.equal(tokens.read(flipped), undefined, flipped)
  }
})

test("the last token is repeated for ten seconds, and reused after that or when it is older", () => {
  const family = newId()
  const numberedMs = 1_800_000_000_000
  const state = { number: 5, numbered_at: new Date(numberedMs) }
  const judged = (number: number, afterMs: number) =>
    judgeToken({ family, number }, state, numberedMs + afterMs)
  assert.equal(judged(5, 1e9), "current")
  assert.equal(judged(4, REPEAT_WINDOW_MS), "repeated")
  assert.equal(judged(4, REPEAT_WINDOW_MS + 1), "reused")
  assert.equal(judged(3, 0), "reused")
})
