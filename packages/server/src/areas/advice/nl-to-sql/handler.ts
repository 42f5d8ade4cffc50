import type { areas, Input, Output } from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import type { Sessions } from "../../../services/postgres/sessions.ts"
import type { Targets } from "../../databases/offers.ts"
import type { Questions } from "./questions.ts"

type Operation = (typeof areas.advice.specs)["naturalLanguageToSql"]

/** The handler of `naturalLanguageToSql`. */
export const nlToSqlHandler =
  ({ targets, sessions, questions }: { targets: Targets; sessions: Sessions; questions: Questions }) =>
  async (input: Input<Operation>, call: Call): Promise<Output<Operation>> => {
    const target = await targets.of(call, input)
    return await questions.translate({
      question: input.question,
      tables: input.tables ?? [],
      execute: input.execute ?? false,
      now: call.now,
      volumeId: target.volume.id,
      signal: call.signal,
      withSession: work =>
        sessions.use(target, "reader", ({ client }) => work(client), { signal: call.signal }),
    })
  }
