/** Valid inputs of the operations of deployments, for the tests that hold for every operation. */
import { eventually } from "../../../testing/eventually.ts"
import { uniqueName } from "../../../testing/platform.ts"
import { type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"

/** None runs: what is deployed is the same without. */
const input = () => ({
  name: `d-${uniqueName()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")}`.slice(0, 36),
  image: "host-rootfs",
  command: ["sleep", "1000000"],
  ports: [],
  memory_mb: 128,
  vcpus: 0.25,
  min_instances: 0,
})

const newDeployment = async ({ key }: SampleWorld) => ({ id: (await key.deployments.create(input())).id })

/** For all that neither change nor remove it. */
const sharedDeployment = shared(newDeployment)

const readyDeployment = async ({ key }: SampleWorld) => {
  const { id } = await key.deployments.create({ ...input(), min_instances: 1 })
  await eventually(
    "the deployment runs",
    () => key.deployments.get({ id }),
    ({ status }) => status === "RUNNING",
  )
  await key.deployments.scale({ id, min_instances: 0 })
  return { id }
}

export const samples = {
  "deployments.create": async () => input(),
  "deployments.get": sharedDeployment,
  "deployments.delete": newDeployment,
  "deployments.instances": sharedDeployment,
  "deployments.logs": sharedDeployment,
  "deployments.restart": newDeployment,
  "deployments.rollback": async world => ({ ...(await readyDeployment(world)), version: 1 }),
  "deployments.scale": async world => ({ ...(await newDeployment(world)), max_instances: 2 }),
  "deployments.versions": sharedDeployment,
} satisfies Readonly<Record<string, Sample>>
