import pg from "pg"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import { DATABASE_NAME, type Endpoint, type EnginePort, type PgVersion } from "../../ports/engine/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { sessionConfig } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { Creations } from "./creations.ts"
import { volumeRow } from "./making.ts"
import type { WithTemporaryBranch } from "./offers.ts"
import { newCredentials } from "./passwords.ts"
import { databaseStore } from "./store.ts"

/** Where copies take time and room by size, a larger database is not copied for advice. */
const COPIED_BYTES_MAX = 1024 ** 3

const connect = async (
  { host, port, tls }: Endpoint,
  version: PgVersion,
  password: string,
): Promise<pg.PoolClient> => {
  const client = new pg.Client({
    ...sessionConfig("owner", version),
    ...{ host, port, database: DATABASE_NAME, password, application_name: "svc-advice" },
    ssl: tls ? { ca: tls.ca, servername: tls.servername } : false,
  })
  client.on("error", () => undefined)
  await client.connect()
  return Object.assign(client, { release: () => undefined }) as unknown as pg.PoolClient
}

export const createTemporaryBranches = (needs: {
  db: Db
  engine: EnginePort
  clock: Clock
  log: Logger
  creations: Creations
}): WithTemporaryBranch => {
  const { engine, clock, log, creations } = needs
  const store = databaseStore(needs.db)

  const checkSize = async ({ volume }: Target) => {
    if (engine.capabilities.copies === "reflink") return
    const { physicalBytes, historyBytes } = await engine.size(volume)
    if (physicalBytes - historyBytes > COPIED_BYTES_MAX)
      throw new PortError("refused", "the database is too large to be copied for advice")
  }

  return async (target, work, { signal } = {}) => {
    await checkSize(target)
    signal?.throwIfAborted()
    const { organizationId, databaseId } = target
    const volume = { ...target.volume, id: newId(clock.now()) }
    const credentials = newCredentials()
    // In the state of a volume that is being made: should this process end, the sweeper frees it.
    using _renewing = creations.renewing()
    const now = new Date(clock.now())
    await store.insertVolume(volumeRow(volume, organizationId, databaseId, now, creations))
    try {
      await engine.branch(target.volume, volume, { kind: "head" }, credentials)
      const client = await connect(await engine.wake(volume), volume.pgVersion, credentials.reader)
      try {
        return await work({ client, wakeMs: 0 })
      } finally {
        await (client as unknown as pg.Client).end()
      }
    } finally {
      await engine
        .destroy(volume)
        .then(() => store.deleteVolume(organizationId, volume.id))
        .catch(error =>
          log.warn(
            { err: error, volume: volume.id },
            "deleting a temporary branch failed; cleanup will retry",
          ),
        )
    }
  }
}
