/** Valid inputs of the operations of domains, for the tests that hold for every operation. */
import { randomUUID } from "node:crypto"
import { type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"
import { certificateFor } from "./certificates.ts"

const newName = () => `${randomUUID()}.example.com`

const newDomain = async ({ key }: SampleWorld) => ({
  id: (await key.domains.create({ domain: newName() })).id,
})
const sharedDomain = shared(newDomain)

export const samples = {
  "domains.create": async () => ({ domain: newName() }),
  "domains.get": sharedDomain,
  "domains.update": async world => ({ ...(await newDomain(world)), hsts: true }),
  "domains.delete": newDomain,
  "domains.verify": newDomain,
  "domains.setTarget": async world => ({ ...(await newDomain(world)), target: null }),
  "domains.setCertificate": async ({ key: svc }) => {
    const domain = newName()
    const [{ id }, { cert, key }] = await Promise.all([
      svc.domains.create({ domain }),
      certificateFor(domain),
    ])
    return { id, source: "upload", certificate: cert, private_key: key }
  },
} satisfies Readonly<Record<string, Sample>>
