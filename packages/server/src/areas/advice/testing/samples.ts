/** Valid inputs for the tests that hold for every operation: none is needed, as the defaults of a project do. */
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {} satisfies Readonly<Record<string, Sample>>
