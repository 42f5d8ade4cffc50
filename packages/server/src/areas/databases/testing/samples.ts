/** Valid inputs of the operations of databases, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import { type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"

const newDatabase = async ({ key }: SampleWorld) =>
  (await key.databases.create({ name: uniqueName(), pg_version: 17 })).id

/** For all that only look at it or change its settings. */
const sharedDatabase = shared(newDatabase)

const newBranch = async (world: SampleWorld) => {
  const id = await sharedDatabase(world)
  const { id: branch_id } = await world.key.databases.createBranch({ id })
  return { id, branch_id }
}

const deletedDatabase = async (world: SampleWorld) => {
  const id = await newDatabase(world)
  await world.key.databases.delete({ id })
  return { id }
}

export const samples = {
  "databases.create": async () => ({ name: uniqueName(), pg_version: 17 }),
  "databases.provision": async () => ({}),
  "databases.certificateAuthority": async () => ({}),
  "databases.get": async world => ({ id: await sharedDatabase(world) }),
  "databases.update": async world => ({ id: await sharedDatabase(world), suspend_timeout_seconds: 600 }),
  "databases.delete": async world => ({ id: await newDatabase(world) }),
  "databases.restore": deletedDatabase,
  "databases.wake": async world => ({ id: await sharedDatabase(world) }),
  "databases.suspend": async world => ({ id: await sharedDatabase(world) }),
  "databases.resetPassword": async world => ({ id: await sharedDatabase(world) }),
  "databases.recoveryWindow": async world => ({ id: await sharedDatabase(world) }),
  "databases.pitr": async world => {
    const id = await sharedDatabase(world)
    return { id, target_time: new Date().toISOString(), name: uniqueName() }
  },
  "databases.listBranches": async world => ({ id: await sharedDatabase(world) }),
  "databases.createBranch": async world => ({ id: await sharedDatabase(world), name: uniqueName() }),
  "databases.getBranch": newBranch,
  "databases.updateBranch": async world => ({ ...(await newBranch(world)), protected: true }),
  "databases.deleteBranch": newBranch,
  "databases.restoreBranch": async world => {
    const branch = await newBranch(world)
    const { default_branch_id } = await world.key.databases.get({ id: branch.id })
    return { ...branch, source_branch_id: default_branch_id }
  },
  "databases.resetBranch": newBranch,
} satisfies Readonly<Record<string, Sample>>
