import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { secretsConformance } from "./conformance.ts"
import { openLocalSecrets } from "./drivers/local/driver.ts"

secretsConformance("The master key", async () => {
  const masterKey = randomBytes(32)
  return { secrets: openLocalSecrets({ masterKey }), reopen: () => openLocalSecrets({ masterKey }) }
})

test("what one master key wrapped another does not unwrap", async () => {
  const wrapped = await openLocalSecrets({ masterKey: randomBytes(32) }).wrap(randomBytes(32), "a")

  await assert.rejects(openLocalSecrets({ masterKey: randomBytes(32) }).unwrap(wrapped, "a"), {
    name: "PortError",
    kind: "refused",
  })
})
