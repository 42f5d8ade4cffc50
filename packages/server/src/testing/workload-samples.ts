/** Valid inputs for operations on sandboxes and computers. */
import { uniqueName } from "./platform.ts"
import type { Sample, SampleWorld } from "./sample-world.ts"

const SANDBOX = { memory_mb: 256, vcpus: 0.5 } as const
const COMPUTER = { memory_mb: 128, vcpus: 0.25, disk_gb: 1 } as const

const newSandbox = async ({ key }: SampleWorld) => ({ id: (await key.sandboxes.create(SANDBOX)).id })

const newComputer = async ({ key }: SampleWorld) => ({
  id: (await key.computers.create({ name: uniqueName(), ...COMPUTER })).id,
})

/** One a world serves all that neither stop nor remove it. */
const shared = (make: (world: SampleWorld) => Promise<{ id: string }>) => {
  const made = new WeakMap<SampleWorld, Promise<{ id: string }>>()
  return async (world: SampleWorld) => {
    const one = made.get(world) ?? make(world)
    made.set(world, one)
    return { ...(await one) }
  }
}

const sharedSandbox = shared(async world => {
  const { id } = await newSandbox(world)
  await world.key.sandboxes.writeFiles({ id, files: [{ path: "/tmp/hello", content: "hello" }] })
  return { id }
})
const sharedComputer = shared(newComputer)
const lasting = shared(async ({ key }) => ({
  id: (await key.sandboxes.create({ kind: "persistent", memory_mb: 512, vcpus: 1 })).id,
}))

export const workloadSamples = {
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
  "computers.create": async () => ({ name: uniqueName(), ...COMPUTER }),
  "computers.get": sharedComputer,
  "computers.delete": newComputer,
  "computers.exec": async world => ({ ...(await sharedComputer(world)), command: "true" }),
  "computers.readFile": async world => ({ ...(await sharedComputer(world)), path: "/etc/passwd" }),
  "computers.writeFiles": async world => ({
    ...(await sharedComputer(world)),
    files: [{ path: "/tmp/a", content: "a" }],
  }),
  "computers.setSshKeys": async world => ({ ...(await sharedComputer(world)), ssh_keys: [] }),
  "computers.start": sharedComputer,
  "computers.stop": newComputer,
  "computers.metrics": sharedComputer,
} satisfies Record<string, Sample>
