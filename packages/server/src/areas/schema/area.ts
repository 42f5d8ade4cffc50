import { provided } from "../../kernel/offer.ts"
import { engineState } from "../../services/postgres/state.ts"
import { schemaHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = async ({ clock, engine, databaseAccess }: Needs) => {
  const { targets, sessions } = await provided(databaseAccess)
  return {
    operations: schemaHandlers({ targets, sessions, clock }),
    state: () => engineState(engine),
  }
}
