/** The rows of texts only read, so their examples serve the tests that hold for every operation. */
import type { Sample, Unsampled } from "../../../testing/sample-world.ts"

export const samples = {} satisfies Readonly<Record<string, Sample>>

export const unsampled: Unsampled = {}
