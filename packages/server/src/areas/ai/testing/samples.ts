/** Valid inputs of the operations of AI, for the tests that hold for every operation. */
import { type Sample, type SampleWorld, shared, type Unsampled } from "../../../testing/sample-world.ts"

let made = 0

const newUpstream = async ({ wide }: SampleWorld) => {
  made++
  const name = `sample-${made}`
  const { id } = await wide.ai.createUpstream({
    name,
    base_url: "https://nowhere.invalid/v1",
    models: ["sample"],
  })
  return { id }
}

/** For all that neither change nor remove it. */
const sharedUpstream = shared(newUpstream)

export const samples = {
  "ai.createUpstream": async () => {
    made++
    return { name: `sample-${made}`, base_url: "https://example.com/v1", models: ["sample"] }
  },
  "ai.getUpstream": sharedUpstream,
  "ai.updateUpstream": async world => ({ ...(await newUpstream(world)), weight: 5 }),
  "ai.deleteUpstream": newUpstream,
  "ai.testUpstream": sharedUpstream,
  "ai.setBudget": async () => ({ monthly_limit_micros: 1_000_000 }),
} satisfies Readonly<Record<string, Sample>>

export const unsampled: Unsampled = {}
