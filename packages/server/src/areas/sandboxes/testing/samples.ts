/** Valid inputs of the operations of sandboxes, for the tests that hold for every operation. */
import { type Sample, type SampleWorld, shared, type Unsampled } from "../../../testing/sample-world.ts"

const SANDBOX = { memory_mb: 256, vcpus: 0.5 } as const

const newSandbox = async ({ key }: SampleWorld) => ({ id: (await key.sandboxes.create(SANDBOX)).id })

const sharedSandbox = shared(async world => {
  const { id } = await newSandbox(world)
  await world.key.sandboxes.writeFiles({ id, files: [{ path: "/tmp/hello", content: "hello" }] })
  return { id }
})
const lasting = shared(async ({ key }) => ({
  id: (await key.sandboxes.create({ kind: "persistent", memory_mb: 512, vcpus: 1 })).id,
}))

export const samples = {
  "sandboxes.create": async () => ({ ...SANDBOX }),
  "sandboxes.get": sharedSandbox,
  "sandboxes.delete": newSandbox,
  "sandboxes.runCommand": async world => ({ ...(await sharedSandbox(world)), command: "true" }),
  "sandboxes.metrics": sharedSandbox,
  "sandboxes.extend": async world => ({ ...(await sharedSandbox(world)), duration_seconds: 1 }),
  "sandboxes.start": lasting,
  "sandboxes.stop": lasting,
  "sandboxes.writeFiles": async world => ({
    ...(await sharedSandbox(world)),
    files: [{ path: "/tmp/a", content: "a" }],
  }),
  "sandboxes.putFile": async world => ({ ...(await sharedSandbox(world)), path: "tmp/b" }),
  "sandboxes.readFile": async world => ({ ...(await sharedSandbox(world)), path: "tmp/hello" }),
} satisfies Readonly<Record<string, Sample>>

export const unsampled = {
  "sandboxes.streamCommand":
    "answers with a stream, which is not replayed; areas/sandboxes/streams.test.ts has it",
  "sandboxes.terminal":
    "answers with a connection; areas/sandboxes/terminal-access.test.ts has who gets one, and the audit entry",
  "sandboxes.snapshot": "always 501; areas/sandboxes/persistent.test.ts has it",
} satisfies Unsampled
