/** Valid inputs of the operations of run services, for the tests that hold for every operation. */
import { eventually } from "../../../testing/eventually.ts"
import { uniqueName } from "../../../testing/platform.ts"
import { type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"

const SERVER = 'require("http").createServer((_, response) => response.end("Hello")).listen(process.env.PORT)'

const input = () => ({
  name: `s-${uniqueName()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")}`.slice(0, 36),
  files: { "server.js": SERVER },
  command: ["node", "server.js"],
})

const newService = async ({ key }: SampleWorld) => ({ id: (await key.run.create(input())).id })

/** For all that neither change nor remove it. */
const sharedService = shared(newService)

const readyService = async (world: SampleWorld) => {
  const { id } = await newService(world)
  await eventually(
    "the service is ready",
    () => world.key.run.get({ id }),
    ({ status }) => status === "READY",
  )
  return { id }
}

export const samples = {
  "run.create": async () => input(),
  "run.get": sharedService,
  "run.update": async world => ({ ...(await newService(world)), max_instances: 5 }),
  "run.delete": newService,
  "run.instances": sharedService,
  "run.logs": sharedService,
  "run.metrics": sharedService,
  "run.revisions": sharedService,
  "run.rollback": async world => ({ ...(await readyService(world)), revision: 1 }),
  "run.requestMetrics": sharedService,
} satisfies Readonly<Record<string, Sample>>
