/** Valid inputs of the operations of the registry, for the tests that hold for every operation. */
import { randomBytes } from "node:crypto"
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"
import { digestOf } from "./world.ts"

const projectOf = async ({ platform, tenant }: SampleWorld) => (await platform.tenant(tenant)).projectId

const newRepository = async (world: SampleWorld) => ({
  project_id: await projectOf(world),
  repository: `team/${uniqueName()}`,
})

const newBlob = async (world: SampleWorld) => {
  const repository = await newRepository(world)
  const content = randomBytes(32)
  const digest = digestOf(content)
  await world.key.registry.startUpload({ ...repository, digest }, { body: content })
  return { ...repository, digest }
}

/** Of nothing but itself. */
const newManifest = async (world: SampleWorld) => {
  const repository = await newRepository(world)
  const index = JSON.stringify({ schemaVersion: 2, manifests: [], annotations: { name: uniqueName() } })
  await world.key.registry.putManifest({ ...repository, reference: "latest" }, { body: index })
  return { ...repository, reference: "latest", digest: digestOf(index) }
}

const newImageUpload = async (world: SampleWorld) => {
  const repository = await newRepository(world)
  const secret = (await world.platform.key(world.tenant, ["registry:push"])).secret
  const path = `/v1/registry/v2/${repository.project_id}/${encodeURIComponent(repository.repository)}/blobs/uploads/`
  const reply = await world.platform.request(path, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
  })
  return { ...repository, upload_id: reply.headers.get("docker-upload-uuid") ?? "" }
}

const tagged = async (world: SampleWorld) => {
  const { digest: _, ...manifest } = await newManifest(world)
  return manifest
}

const emptyDigest = digestOf("")

export const samples = {
  "registry.getBlob": newBlob,
  "registry.headBlob": newBlob,
  "registry.deleteBlob": newBlob,
  "registry.startUpload": newRepository,
  "registry.getUpload": newImageUpload,
  "registry.patchUpload": newImageUpload,
  "registry.finishUpload": async world => ({ ...(await newImageUpload(world)), digest: emptyDigest }),
  "registry.cancelUpload": newImageUpload,
  "registry.getManifest": tagged,
  "registry.headManifest": tagged,
  "registry.deleteManifest": tagged,
  "registry.listTags": async world => {
    const { project_id, repository } = await newManifest(world)
    return { project_id, repository }
  },
  "registry.referrers": async world => {
    const { project_id, repository, digest } = await newManifest(world)
    return { project_id, repository, digest }
  },
} as const satisfies Readonly<Record<string, Sample>>

export const unsampled = {
  "registry.putManifest": "its body is a manifest; areas/registry/registry.test.ts has it",
} as const
