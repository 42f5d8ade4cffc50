import type { Db } from "../../kernel/db/database.ts"
import { isUuid } from "../../kernel/id.ts"
import type { DomainTarget } from "../domains/offers.ts"
import { serviceStore } from "./store.ts"

/** Services that custom domains are pointed at, found by the label of their host name. */
export const createDomainTarget = (db: Db, answer: NonNullable<DomainTarget["answer"]>): DomainTarget => ({
  scope: "services:deploy",
  async find(owner, id) {
    if (!isUuid(id)) return undefined
    return (await serviceStore(db).find(owner, "id", id))?.host_label
  },
  answer,
})
