import type { Db } from "../../kernel/db/database.ts"
import { isUuid } from "../../kernel/id.ts"
import type { DomainTarget } from "../domains/offers.ts"
import { functionStore } from "./store.ts"

/** Functions that custom domains are pointed at: requests are those for their public URLs, and counted as such. */
export const createDomainTarget = (db: Db): DomainTarget => ({
  scope: "functions:deploy",
  async find(owner, id) {
    if (!isUuid(id)) return undefined
    const found = await functionStore(db).find(owner, "id", id)
    return found?.is_public ? found.id : undefined
  },
  path: ({ key }) => `/v1/functions/public/${key}`,
})
