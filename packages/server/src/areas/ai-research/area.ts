import { RESEARCH_KEPT_DAYS } from "@svc/contract"
import { createTenants } from "../../core/organizations/tenants.ts"
import { provided } from "../../kernel/offer.ts"
import { createDeepResearch } from "./deep.ts"
import { createGathering } from "./gather.ts"
import { researchHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { createPages } from "./pages.ts"
import { createSearxng } from "./searxng.ts"
import { pruneRuns } from "./store.ts"

const DAY_MS = 86_400_000

export const start = (given: Needs) => {
  const { settings, changes, clock, database, jobs, log, meters, outbound, models, passages, index } = given
  const { db } = database
  const gathering = createGathering({
    ...{ index, passages },
    web: settings.searxngUrl === undefined ? undefined : createSearxng(settings.searxngUrl),
    fetchPages: createPages({ outbound, reader: () => provided(passages) }),
  })
  const tenants = createTenants(db, changes)
  const deep = createDeepResearch({ db, clock, jobs, log, meters, models, tenants, gathering })
  jobs.schedule({
    name: "research.prune",
    every: DAY_MS,
    run: () => pruneRuns(db, new Date(clock.now() - RESEARCH_KEPT_DAYS * DAY_MS)),
  })
  return { operations: researchHandlers({ database, jobs, models, gathering, deep }) }
}
