import { createUpstream } from "@svc/text-to-sql"
import { operatorUpstreams } from "../../core/ai/settings.ts"
import { provided } from "../../kernel/offer.ts"
import { engineState } from "../../services/postgres/state.ts"
import { adviceHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { nlToSqlHandler } from "./nl-to-sql/handler.ts"
import { createQuestions } from "./nl-to-sql/questions.ts"

/** The installation's first chat model; undefined where it has none. */
const chatModelOf = (settings: Needs["settings"]) => {
  for (const { baseUrl, key, models } of operatorUpstreams(settings)) {
    const chat = models.find(({ kinds }) => kinds.includes("chat"))
    if (chat) return createUpstream({ baseUrl, key, model: chat.id })
  }
  return undefined
}

export const start = async (needs: Needs) => {
  const { engine, settings } = needs
  const { targets, sessions } = await provided(needs.databaseAccess)
  const insight = await provided(needs.branchInsight)
  const statements = await provided(needs.statements)
  const questions = createQuestions({
    statements,
    upstream: chatModelOf(settings),
    limitMs: settings.textToSqlMs,
  })
  return {
    operations: adviceHandlers({
      targets,
      sessions,
      insight,
      histories: statements.histories,
      naturalLanguageToSql: nlToSqlHandler({ targets, sessions, questions }),
    }),
    state: () => engineState(engine),
  }
}
