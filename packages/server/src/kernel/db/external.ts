import { StartupError } from "../startup-error.ts"
import type { Database } from "./database.ts"

const OLDEST_MAJOR = 16

/** Sees that the operator's own PostgreSQL answers and is new enough; throws a StartupError when it is not. */
export const checkExternalDatabase = async ({ pool }: Database): Promise<void> => {
  const { rows } = await pool
    .query<{ version: string }>("SELECT current_setting('server_version_num') AS version")
    .catch(error => {
      throw new StartupError(
        `The control database does not answer: ${error.message || error.code || error}.`,
        "See that its server runs and that SVC_DATABASE_URL names its address, user, password and database.",
        { cause: error },
      )
    })
  const major = Math.floor(Number(rows[0]?.version) / 10_000)
  if (major >= OLDEST_MAJOR) return
  throw new StartupError(
    `The control database is a PostgreSQL ${major}, and Svc needs ${OLDEST_MAJOR} or newer.`,
    "Upgrade it, or leave SVC_DATABASE_URL out to use the embedded one.",
  )
}
