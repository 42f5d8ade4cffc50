/** Repositories of a project. Every statement names the project first. */
import { REGISTRY_REPOSITORIES_MAX } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"

export interface Place {
  readonly organizationId: string
  readonly projectId: string
  readonly repository: string
}

export const findRepository = async (
  db: Db,
  { projectId, repository }: Pick<Place, "projectId" | "repository">,
): Promise<string | undefined> => {
  const row = await db
    .selectFrom("registry.repositories")
    .select("id")
    .where("project_id", "=", projectId)
    .where("name", "=", repository)
    .executeTakeFirst()
  return row?.id
}

/** Its id; it is made on first mention. It stays until the transaction ends, also where it is empty. */
export const ensureRepository = async (db: Db, place: Place, now: Date): Promise<string> => {
  const { organizationId, projectId, repository } = place
  const { rows: known } = await sql<{ id: string }>`
    SELECT id FROM registry.repositories WHERE project_id = ${projectId} AND name = ${repository} FOR KEY SHARE`.execute(
    db,
  )
  if (known[0]) return known[0].id
  const { rows: counted } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM registry.repositories WHERE project_id = ${projectId}`.execute(db)
  if ((counted[0]?.count ?? 0) >= REGISTRY_REPOSITORIES_MAX)
    throw fault("plan_limit_reached", {
      limit: REGISTRY_REPOSITORIES_MAX,
      resources: "repositories of images a project",
    })
  // A row that another transaction made meanwhile is locked by the update that changes nothing.
  const { rows } = await sql<{ id: string }>`
    INSERT INTO registry.repositories AS repository (organization_id, project_id, id, name, created_at)
    VALUES (${organizationId}, ${projectId}, ${newId(now.getTime())}, ${repository}, ${now})
    ON CONFLICT (project_id, name) DO UPDATE SET name = repository.name
    RETURNING id`.execute(db)
  return (rows[0] as { id: string }).id
}

/** Names after `last`, in order. */
export const listRepositories = async (
  db: Db,
  { projectId, last, limit }: { readonly projectId: string; readonly last: string; readonly limit: number },
): Promise<string[]> => {
  const rows = await db
    .selectFrom("registry.repositories")
    .select("name")
    .where("project_id", "=", projectId)
    .where("name", ">", last)
    .orderBy("name")
    .limit(limit)
    .execute()
  return rows.map(({ name }) => name)
}
