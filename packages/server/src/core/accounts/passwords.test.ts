import assert from "node:assert/strict"
import { test } from "node:test"
import { isFault } from "../../kernel/fault.ts"
import { createPasswords } from "./passwords.ts"

test("a password is stored as Argon2id with a salt of its own, and only that password verifies", async () => {
  const passwords = createPasswords(2)
  const [first, second] = await Promise.all([
    passwords.hash("correct horse"),
    passwords.hash("correct horse"),
  ])

  assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.notEqual(first, second)
  assert.equal(await passwords.verify("correct horse", first), true)
  assert.equal(await passwords.verify("Correct horse", first), false)
})

test("the two ways to type an accented letter are one password", async () => {
  const passwords = createPasswords(1)
  const stored = await passwords.hash("caf\u00e9 au lait")

  assert.equal(await passwords.verify("cafe\u0301 au lait", stored), true)
})

test("an unknown user costs as much as a known one, and never gets in", async () => {
  const passwords = createPasswords(1)
  const stored = await passwords.hash("correct horse")
  const timed = async (hash: string | undefined) => {
    const startedMs = performance.now()
    assert.equal(await passwords.verify("a wrong password", hash), false)
    return performance.now() - startedMs
  }
  const known: number[] = []
  const unknown: number[] = []
  for (let round = 0; round < 15; round++) {
    known.push(await timed(stored))
    unknown.push(await timed(undefined))
  }
  const median = (times: number[]) => times.sort((a, b) => a - b)[7] as number

  const ratio = median(unknown) / median(known)
  assert.ok(ratio > 0.6 && ratio < 1.6, `unknown takes ${ratio} of known`)
})

test("a wave of sign-ins past the queue is told to come back, and the ones in it are served", async () => {
  const passwords = createPasswords(1, 2)
  const wave = await Promise.allSettled(Array.from({ length: 6 }, () => passwords.hash("correct horse")))

  const refused = wave.filter(one => one.status === "rejected").map(({ reason }) => reason)
  assert.equal(refused.length, 3)
  for (const error of refused) {
    assert.ok(isFault(error, "service_unavailable"))
    assert.equal(error.details.headers?.["retry-after"], "2")
  }
  assert.match(await passwords.hash("afterwards"), /^\$argon2id/)
})
