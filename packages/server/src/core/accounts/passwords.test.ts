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

test("an unknown user takes the same place as a known one while the hash runs, and never gets in", async () => {
  const passwords = createPasswords(1, 0)
  const stored = await passwords.hash("correct horse")
  const isBusy = (error: unknown) => isFault(error, "service_unavailable")

  for (const hash of [stored, undefined]) {
    const checking = passwords.verify("a wrong password", hash)
    // The one place is taken, so something is being hashed, whether there is such a user or not.
    await assert.rejects(passwords.verify("a wrong password", stored), isBusy)
    assert.equal(await checking, false)
  }
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
