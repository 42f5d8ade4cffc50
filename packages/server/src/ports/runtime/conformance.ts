/** The promises of `port.ts` as tests. Every driver passes all of them. */
import { after, before, describe } from "node:test"
import { commandTests } from "./conformance/commands.ts"
import { escapeTests } from "./conformance/escapes.ts"
import { exhaustionTests } from "./conformance/exhaustion.ts"
import { fileTests } from "./conformance/files.ts"
import type { Subject } from "./conformance/fixture.ts"
import { imageTests } from "./conformance/images.ts"
import { installTests } from "./conformance/installs.ts"
import { lifeTests } from "./conformance/life.ts"
import { resourceTests } from "./conformance/resources.ts"
import type { RuntimePort } from "./port.ts"

const suites = {
  lifeTests,
  commandTests,
  fileTests,
  exhaustionTests,
  resourceTests,
  escapeTests,
  imageTests,
  installTests,
}

/**
 * `open` gives a driver that is used by all tests and closed after them. `concurrency` of them run at once, for drivers whose
 * workloads use one processor and wait for it.
 */
export const runtimeConformance = (
  driver: string,
  open: () => Promise<RuntimePort>,
  concurrency = 1,
): void => {
  describe(`${driver} keeps the promises of the runtime port`, { concurrency }, () => {
    let runtime: RuntimePort | undefined
    const subject: Subject = {
      get runtime() {
        if (!runtime) throw new Error("the driver is not open")
        return runtime
      },
    }
    before(async () => {
      runtime = await open()
    })
    after(() => runtime?.[Symbol.asyncDispose]())
    for (const register of Object.values(suites)) register(subject)
  })
}
