import { fault } from "../../kernel/fault.ts"
import type { Eventually } from "../../ports/kv/port.ts"
import { PortError } from "../../ports/port-error.ts"

/** An engine that is restarted or fails over is back within seconds. */
const RETRY_AFTER_SECONDS = 2

const translate = (error: unknown, refusal: string): never => {
  if (!(error instanceof PortError) || error.kind === "missing") throw error
  if (error.kind === "refused") throw fault("invalid_parameter", { reason: refusal }, { internal: error })
  throw fault(
    "service_unavailable",
    { reason: "the key-value engine does not answer" },
    { internal: error, headers: { "retry-after": String(RETRY_AFTER_SECONDS) } },
  )
}

/**
 * Asks the engine, and turns its two ways of saying no into what a caller understands: 503 when it cannot serve now,
 * and 400 with `refusal` as its reason when it will not serve this call at all.
 */
export const served = <Result>(
  ask: () => Eventually<Result>,
  refusal = "the key-value engine cannot hold this",
): Eventually<Result> => {
  try {
    const answer = ask()
    return answer instanceof Promise ? answer.catch(error => translate(error, refusal)) : answer
  } catch (error) {
    return translate(error, refusal)
  }
}
