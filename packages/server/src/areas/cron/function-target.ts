import type { CronTargetOf } from "@svc/contract"
import type { ScheduledOutcome, ScheduleOwner, ScheduleTarget } from "../../core/schedule-targets.ts"
import { fault } from "../../kernel/fault.ts"
import type { Offer } from "../../kernel/offer.ts"
import type { FunctionCaller } from "../functions/offers.ts"

/** Functions that schedules call; 501 until an area offers functions. */
export const createFunctionTarget = (functions: Offer<FunctionCaller>): ScheduleTarget<"function"> => {
  const callerOf = async (): Promise<FunctionCaller> => {
    const caller = await functions.get()
    if (!caller) throw fault("not_implemented", { reason: "this installation has no functions" })
    return caller
  }
  const functionOf = (
    { organizationId, projectId }: ScheduleOwner,
    { function_name }: CronTargetOf<"function">,
  ) => {
    if (projectId === null) throw fault("project_required")
    return { organizationId, projectId, name: function_name }
  }
  return {
    scope: "functions:invoke",
    async check(owner, target) {
      const caller = await callerOf()
      await caller.check(functionOf(owner, target))
    },
    async run({ timeoutMs, signal, ...owner }, target): Promise<ScheduledOutcome> {
      const body = JSON.stringify(target.payload ?? {})
      const caller = await callerOf()
      const answer = await caller.invoke(functionOf(owner, target), {
        body,
        timeoutMs,
        signal,
        trigger: "cron",
      })
      const kept = { statusCode: answer.status, responseBody: answer.body }
      if (answer.status >= 200 && answer.status < 300) return { status: "succeeded", ...kept }
      const error = `The function answered with ${answer.status}.`
      return { status: answer.status === 504 ? "timed_out" : "failed", ...kept, error }
    },
  }
}
