/** Valid inputs of the operations of research, for the tests that hold for every operation. */
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

const newRun = async ({ key }: SampleWorld) => {
  const given = { query: "What is researched here?", breadth: 1, depth: 1 }
  return { id: (await key.research.deep({ ...given, wait_seconds: 0 })).id }
}

export const samples = {
  "research.deep": async () => ({ query: "What is researched here?", breadth: 1, depth: 1, wait_seconds: 0 }),
  "research.cancel": newRun,
  "research.remove": newRun,
} satisfies Readonly<Record<string, Sample>>
