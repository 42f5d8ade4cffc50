/** Valid inputs of the operations of compliance, for the tests that hold for every operation. */
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {} satisfies Readonly<Record<string, Sample>>
