/** Valid inputs of the operations of usage, for the tests that hold for every operation. */
import { everyScope } from "../../../testing/platform.ts"
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {
  "usage.key": async ({ platform, tenant }) => ({ key_id: (await platform.key(tenant, everyScope)).id }),
} satisfies Readonly<Record<string, Sample>>
