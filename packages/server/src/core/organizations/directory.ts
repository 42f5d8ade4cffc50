import type { ProjectFacts } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Projects } from "../../kernel/needs.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { projectStore } from "./project-store.ts"

const CACHED_MAX = 10_000
const UUID_LENGTH = 36

/** The projects of organizations, by id. A renamed or deleted one is heard of at once. */
export const createProjectDirectory = (db: Db, changes: Changes): Projects => {
  const known = createPushedCache<ProjectFacts | undefined>({
    changes,
    topics: { project: "one", organization: "all" },
    read: async key => {
      const found = await projectStore(db).find(key.slice(0, UUID_LENGTH), key.slice(UUID_LENGTH))
      return found && Object.freeze({ id: found.id, name: found.name })
    },
    idOf: project => project?.id,
    entriesMax: CACHED_MAX,
  })

  return {
    // Ids are of one length, so two of them joined name one pair only; and in one case, or a change would miss its entry.
    find: (organizationId, projectId) => known.find(organizationId + projectId.toLowerCase()),
  }
}
