import assert from "node:assert/strict"
import { test } from "node:test"
import { createRenderer } from "./renderer.ts"

test("a thread that is about to end for want of work is given none", async t => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const renderer = createRenderer()
  t.after(() => renderer[Symbol.asyncDispose]())
  const task = { kind: "plain", html: "<p>x</p>" } as const
  for (let round = 0; round < 3; round++) {
    assert.equal(await renderer.run("tenant", task), "x")
    t.mock.timers.tick(60_000)
  }
})
