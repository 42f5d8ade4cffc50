/** The promises of `port.ts` as tests. Every driver passes all of them. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { describe, type TestContext, test } from "node:test"
import { PortError } from "../port-error.ts"
import type { SecretsPort } from "./port.ts"

export interface SecretsFixture {
  readonly secrets: SecretsPort
  /** Another port of the same engine, as after a restart. */
  reopen(): SecretsPort
}

const isRefused = (error: unknown): boolean => error instanceof PortError && error.kind === "refused"

const changedEverywhere = (text: string): string[] =>
  Array.from(
    text,
    (character, at) => text.slice(0, at) + (character === "A" ? "B" : "A") + text.slice(at + 1),
  )

export const secretsConformance = (
  driver: string,
  open: (t: TestContext) => Promise<SecretsFixture>,
): void => {
  describe(`${driver} keeps the promises of the secrets port`, () => {
    test("a wrapped key opens in its context, after a restart too, and shows nothing of itself", async t => {
      const { secrets, reopen } = await open(t)
      for (const context of ["tenant|1", "", "ä|€"]) {
        const key = randomBytes(32)
        const wrapped = await secrets.wrap(key, context)
        assert.deepEqual(await secrets.unwrap(wrapped, context), key)
        assert.deepEqual(await reopen().unwrap(wrapped, context), key)
        assert.match(wrapped, /^[\x21-\x7e]{1,1000}$/)
        assert.ok(!Buffer.from(wrapped.split(":").at(-1) ?? "", "base64").includes(key))
      }
    })

    test("two wraps of one key differ", async t => {
      const { secrets } = await open(t)
      const key = randomBytes(32)
      assert.notEqual(await secrets.wrap(key, "a"), await secrets.wrap(key, "a"))
    })

    test("in another context, with a changed character or cut off, a wrapped key is refused", async t => {
      const { secrets } = await open(t)
      const wrapped = await secrets.wrap(randomBytes(32), "tenant|1")
      for (const context of ["tenant|2", "tenant|1 ", ""])
        await assert.rejects(secrets.unwrap(wrapped, context), isRefused)
      for (const text of [...changedEverywhere(wrapped), wrapped.slice(0, -8), "", "nonsense"])
        await assert.rejects(secrets.unwrap(text, "tenant|1"), isRefused, text)
    })

    test("an engine that is well tells how what it wraps begins", async t => {
      const { secrets } = await open(t)
      const health = await secrets.health()
      assert.ok(health.ok && health.generation.length > 0)
      assert.ok((await secrets.wrap(randomBytes(32), "a")).startsWith(health.generation))
    })
  })
}
