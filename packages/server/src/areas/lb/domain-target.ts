import type { Db } from "../../kernel/db/database.ts"
import { isUuid } from "../../kernel/id.ts"
import type { DomainTarget } from "../domains/offers.ts"
import type { DataPlane } from "./gate.ts"
import { lbStore } from "./store.ts"

/** Load balancers that custom domains are pointed at. */
export const createDomainTarget = (db: Db, plane: DataPlane): DomainTarget => ({
  scope: "lb:write",
  async find({ projectId }, id) {
    if (!isUuid(id)) return undefined
    return (await lbStore(db).find(projectId, id))?.id
  },
  answer: ({ key }, asked) => plane.serveDomain(key, asked),
})
