/** A key in use: what tests of keys look at from outside. */
import assert from "node:assert/strict"
import type { TestPlatform } from "../../../testing/platform.ts"

/** Reads a key-value entry with the secret: `ok`, or the code of the refusal. */
export const use = async (p: TestPlatform, secret: string, headers: Record<string, string> = {}) => {
  const response = await p.request("/v1/kv/get", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
    body: '{"key":"a"}',
  })
  const body = (await response.json()) as { code?: string }
  return response.status === 200 ? "ok" : body.code
}

/** Asks again and again until it holds, for this many milliseconds at most. */
export const holdsWithin = async (limitMs: number, check: () => Promise<boolean>) => {
  const deadline = performance.now() + limitMs
  while (!(await check())) assert.ok(performance.now() < deadline, `it does not hold after ${limitMs} ms`)
}
