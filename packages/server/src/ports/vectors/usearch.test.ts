import { systemClock } from "../../kernel/clock.ts"
import { vectorConformance } from "./conformance.ts"
import { openUsearchIndex } from "./drivers/usearch/driver.ts"

vectorConformance("usearch", async t => {
  const index = openUsearchIndex({ memoryBytes: 2 ** 28, clock: systemClock })
  t.after(() => index[Symbol.asyncDispose]())
  return index
})
