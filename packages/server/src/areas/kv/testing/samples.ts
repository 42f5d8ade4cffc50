/** Valid inputs of the operations of kv, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {
  "kv.set": async () => ({ key: uniqueName(), value: { text: "hello" } }),
  "kv.del": async () => ({ key: uniqueName() }),
  "kv.batch": async () => ({ ops: [{ op: "set", key: uniqueName(), value: 1 }] }),
} satisfies Readonly<Record<string, Sample>>
