import { hkdfSync } from "node:crypto"
import type { Db } from "../../kernel/db/database.ts"
import { StartupError } from "../../kernel/startup-error.ts"

const NAME = "master_key_fingerprint"

const fingerprintOf = (masterKey: Buffer): string =>
  Buffer.from(hkdfSync("sha256", masterKey, "svc:fingerprint", "", 32)).toString("hex")

/**
 * Refuses a master key other than the one this database knows: what one process seals the others must be able to open.
 * The first start writes the fingerprint, from which the key cannot be told.
 */
export const checkMasterKey = async (db: Db, masterKey: Buffer): Promise<void> => {
  const value = fingerprintOf(masterKey)
  await db
    .insertInto("core.installation")
    .values({ name: NAME, value })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  const known = await db
    .selectFrom("core.installation")
    .select("value")
    .where("name", "=", NAME)
    .executeTakeFirst()
  if (known?.value !== value) {
    throw new StartupError(
      "The master key is not the one that this database was first used with.",
      "Give every process the same SVC_MASTER_KEY, or put back the master.key file that belongs to this database.",
    )
  }
}
