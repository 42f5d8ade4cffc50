import assert from "node:assert/strict"
import { test } from "node:test"
import { createAbsentRuntime } from "../../ports/runtime/absent.ts"
import { createRuntimes } from "./runtimes.ts"

const { capabilities } = createAbsentRuntime("nothing is there")

test("where a function cannot be shown its code none is made, in any language, and the setting is named", async () => {
  const given = { ...capabilities, driver: "kubernetes", mounts: false, roots: ["host", "image"] } as const
  const runtimes = createRuntimes({ capabilities: given })
  for (const name of ["nodejs", "python3", "wasm", "container"]) {
    await assert.rejects(runtimes.find(name), { code: "not_implemented", message: /kubernetes.*SVC_RUNTIME/ })
    await assert.rejects(runtimes.start(name === "container" ? "container" : "nodejs"), {
      code: "not_implemented",
    })
  }
  const able = createRuntimes({ capabilities: { ...given, mounts: true } })
  assert.equal((await able.find("nodejs")).name, "nodejs")
})
