/** Valid inputs of the operations of lb, for the tests that hold for every operation. */
import { type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"

const BACKEND = { address: "nowhere.invalid", port: 8080 }

const newBalancer = async ({ key }: SampleWorld) => {
  const { id } = await key.lb.create({
    name: "shop",
    health_check: { protocol: "tcp", interval_seconds: 300 },
  })
  return { id }
}
const sharedBalancer = shared(newBalancer)

const newBackend = async (world: SampleWorld) => {
  const { id } = await newBalancer(world)
  const backend = await world.key.lb.addBackend({ id, ...BACKEND })
  return { id, backend_id: backend.id }
}

export const samples = {
  "lb.create": async () => ({ name: "shop", backends: [BACKEND] }),
  "lb.get": sharedBalancer,
  "lb.update": async world => ({ ...(await newBalancer(world)), algorithm: "ip_hash" }),
  "lb.delete": newBalancer,
  "lb.addBackend": async world => ({ ...(await newBalancer(world)), ...BACKEND }),
  "lb.updateBackend": async world => ({ ...(await newBackend(world)), weight: 2 }),
  "lb.removeBackend": newBackend,
  "lb.logs": sharedBalancer,
} satisfies Readonly<Record<string, Sample>>
