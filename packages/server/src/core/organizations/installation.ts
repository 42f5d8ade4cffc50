import type { Db } from "../../kernel/db/database.ts"

/**
 * The organization that runs the installation: the first one. Deleted ones count too: else, with it gone, the installation
 * would be some customer's.
 */
export const findInstallationOrganization = async (db: Db): Promise<string | undefined> => {
  const row = await db
    .selectFrom("core.organizations")
    .select("id")
    .orderBy("created_at")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst()
  return row?.id
}
