import { plans } from "@svc/contract"
import type { OrganizationFacts } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { checkRoom } from "../organizations/rules.ts"
import { organizationStore } from "../organizations/store.ts"
import { keyStore } from "./store.ts"

/** Holds the plan's limit under races: creations of one organization take turns on its row. */
export const checkRoomForKey = async (
  db: Db,
  { id, plan }: Pick<OrganizationFacts, "id" | "plan">,
  now: Date,
) => {
  const limit = plans[plan].api_keys
  if (limit === null) return
  await organizationStore(db).lock(id)
  checkRoom(limit, await keyStore(db).countLive(id, now), "API key")
}
